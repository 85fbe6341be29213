/**
 * Where the header scanner writes what: all positions in its Int32Array, shared with native/sip_header.h (a test keeps
 * the two equal). Pairs are start and end offsets into the message's text. A start of -1 says that there is none,
 * -2 that a parameter is there without a value.
 */

/** What is wrong with a message as a whole; the first in the order of the text, start line before headers. */
export const FAULT = {
  NONE: 0,
  NO_START_LINE: 1,
  REQUEST_LINE: 2,
  STATUS_LINE: 3,
  BARE_LINE_END_IN_START: 4,
  BARE_LINE_END: 5,
  NO_NAME: 6,
  CUT: 7,
  TOO_MANY_ELEMENTS: 8,
} as const;

/** NONE: not even a method could be read, so that nothing can be answered. */
export const KIND = { NONE: 0, REQUEST: 1, RESPONSE: 2 } as const;

export const HEAD = {
  FAULT: 0,
  KIND: 1,
  /** Pair: the method, or a response's reason phrase. */
  METHOD: 2,
  /** Pair. */
  URI: 4,
  /** Pair; -1 when the start line is malformed but could be answered. */
  VERSION: 6,
  STATUS: 8,
  BODY: 9,
  LINES: 10,
  ELEMENTS: 11,
  /** A URI block (the Request-URI's) and whether it is valid. */
  URI_SPLIT: 12,
  URI_VALID: 23,
  /** How many numbers of the table are used, as the scanner returns. */
  USED: 24,
  /** By header id: position of its first line's record, 0 for none. */
  FIRST: 25,
  /** Behind the head: the first line's record. */
  SIZE: 48,
} as const;

/** Ids of the headers that a route is found by; other lines have id 0. */
export const HEADER_IDS = [
  '',
  'via',
  'from',
  'to',
  'contact',
  'route',
  'record-route',
  'path',
  'call-id',
  'cseq',
  'max-forwards',
  'expires',
  'content-length',
  'authorization',
  'proxy-authorization',
  'require',
  'supported',
  'proxy-require',
] as const;

export const ID = {
  VIA: 1,
  FROM: 2,
  TO: 3,
  CONTACT: 4,
  ROUTE: 5,
  RECORD_ROUTE: 6,
  PATH: 7,
  AUTHORIZATION: 13,
} as const;

/** A header line: its record, then the records of its elements, up to NEXT. */
export const LINE = {
  /** The header's id. */
  ID: 0,
  /** Pair: the name. */
  NAME: 1,
  /** Pair: the value, trimmed, still folded. */
  VALUE: 3,
  /** Where the next line's record begins. */
  NEXT: 5,
  SIZE: 6,
} as const;

/** A URI, split. */
export const URI = {
  /** Where the scheme ends (its colon). */
  SCHEME_END: 0,
  /** Pair; for `tel:` the number, for other schemes all behind the colon. */
  USER: 1,
  /** Pair. */
  PASSWORD: 3,
  /** Pair; empty for schemes without a host. */
  HOST: 5,
  /** -1 for none. */
  PORT: 7,
  /** Pair, from the first semicolon on; empty for none. */
  PARAMS: 8,
  /** Where the headers begin, behind `?`; -1 for none. They end with the URI. */
  HEADERS: 10,
  SIZE: 11,
} as const;

export const FLAG = { VALID: 1, STAR: 2, URI_VALID: 4 } as const;

/** An element of From, To, Contact, Route, Record-Route and Path. */
export const ADDRESS = {
  FLAGS: 0,
  /** Pair: the whole element, trimmed. The rest is only there when it is valid. */
  TEXT: 1,
  /** Pair; with its quotes when it is quoted. */
  DISPLAY: 3,
  /** Pair. */
  URI: 5,
  /** Pair: all header parameters. */
  PARAMS: 7,
  /** A URI block; only there when the flag URI_VALID is set. */
  URI_SPLIT: 9,
  /** Pairs: values of single parameters, with quotes when quoted. */
  TAG: 20,
  EXPIRES: 22,
  Q: 24,
  INSTANCE: 26,
  REG_ID: 28,
  SIZE: 30,
} as const;

/** An element of Via. */
export const VIA = {
  FLAGS: 0,
  /** Pair: the whole element, trimmed. The rest is only there when it is valid. */
  TEXT: 1,
  /** Pair. */
  TRANSPORT: 3,
  /** Pair. */
  HOST: 5,
  /** -1 for none. */
  PORT: 7,
  /** Pair: all parameters. */
  PARAMS: 8,
  /** Pairs: values of single parameters, with quotes when quoted. */
  BRANCH: 10,
  RECEIVED: 12,
  RPORT: 14,
  SIZE: 16,
} as const;

/** Authorization and Proxy-Authorization: one pair, the digest username, with quotes when quoted. */
export const CREDENTIALS = { USERNAME: 0, SIZE: 2 } as const;

/** More elements than any real message has; beyond it the message is refused, so that memory stays bounded. */
export const MAX_ELEMENTS = 1024;
