import { parseDigits, trimBlank, isToken } from './chars';
import { headerKey } from './header-name';
import { splitList } from './list';
import { parseNameAddr, type NameAddr } from './name-addr';
import { parseVia, type Via } from './via';

/** One header line. */
export interface Header {
  /** As sent. */
  readonly name: string;
  /** The long lower-case name: `via`, `from`, `contact`. */
  readonly key: string;
  /** Unfolded (RFC 3261 §7.3.1: a fold becomes one space) and trimmed. */
  readonly value: string;
}

/** The start line's parts; a request has no status, a response no method. */
export interface StartLine {
  readonly kind: 'request' | 'response';
  readonly method: string;
  readonly uri: string;
  readonly status: number;
  readonly reason: string;
  readonly version: string;
}

/** RFC 3261 §8.1.1.5: a CSeq number is below 2^31. */
const CSEQ_MAX = 2 ** 31 - 1;
/** RFC 3261 §20.19: delta-seconds. */
const EXPIRES_MAX = 2 ** 32 - 1;

/**
 * A SIP message that was taken apart, never changed. Strings are latin1: one char per byte, bodies too, so
 * that any byte survives. What costs something is worked out when it is first asked for. Values that are
 * missing or malformed read as undefined; `checkRequest` says which it was.
 */
export class SipMessage {
  readonly kind: 'request' | 'response';
  /** Request method as sent (methods compare with case); empty for a response. */
  readonly method: string;
  /** Request-URI as sent; empty for a response. */
  readonly uri: string;
  /** 0 for a request. */
  readonly status: number;
  readonly reason: string;
  /** `SIP/2.0`, as sent. */
  readonly version: string;

  #vias: readonly Via[] | undefined;
  #contacts: readonly NameAddr[] | undefined;
  #from: NameAddr | undefined | null = null;
  #to: NameAddr | undefined | null = null;

  constructor(
    /** The whole message as it came. */
    readonly raw: string,
    start: StartLine,
    /** In order, one per header line. */
    readonly headers: readonly Header[],
    /** Where the body begins in `raw`. */
    readonly bodyStart: number,
  ) {
    this.kind = start.kind;
    this.method = start.method;
    this.uri = start.uri;
    this.status = start.status;
    this.reason = start.reason;
    this.version = start.version;
  }

  /** The first line's value of a header named in full or compact, in any case. */
  get(name: string): string | undefined {
    const key = headerKey(name);
    for (const header of this.headers) if (header.key === key) return header.value;
    return undefined;
  }

  /** Each line's value. */
  getAll(name: string): readonly string[] {
    const key = headerKey(name);
    const values: string[] = [];
    for (const header of this.headers) if (header.key === key) values.push(header.value);
    return values;
  }

  /** The elements of a list header: of all its lines, split at top-level commas; empty ones are left out. */
  list(name: string): readonly string[] {
    return this.getAll(name).flatMap(splitList).filter(Boolean);
  }

  /** All Via values, top first; malformed ones are left out (`checkRequest` refuses them). */
  get vias(): readonly Via[] {
    this.#vias ??= this.list('via').flatMap((text) => parseVia(text) ?? []);
    return this.#vias;
  }

  /** The topmost Via; undefined when that one is missing or malformed. */
  get via(): Via | undefined {
    return this.vias[0];
  }

  get from(): NameAddr | undefined {
    if (this.#from === null) this.#from = this.#nameAddr('from');
    return this.#from;
  }

  get to(): NameAddr | undefined {
    if (this.#to === null) this.#to = this.#nameAddr('to');
    return this.#to;
  }

  /** All Contacts; `*` is one with the URI `*`; malformed ones are left out. */
  get contacts(): readonly NameAddr[] {
    this.#contacts ??= this.list('contact').flatMap((text) =>
      text === '*' ? { uri: '*', params: [], text } : (parseNameAddr(text) ?? []),
    );
    return this.#contacts;
  }

  get callId(): string | undefined {
    const value = this.get('call-id');
    return value === '' ? undefined : value;
  }

  /** Undefined when malformed or not below 2^31. */
  get cseq(): { readonly number: number; readonly method: string } | undefined {
    const value = this.get('cseq');
    const digits = value === undefined ? null : /^(\d+)[ \t]+/.exec(value);
    if (value === undefined || digits === null) return undefined;
    const number = parseDigits(digits[1] ?? '', CSEQ_MAX);
    const method = value.slice(digits[0].length);
    return number === undefined || !isToken(method) ? undefined : { number, method };
  }

  /** 0 to 255. */
  get maxForwards(): number | undefined {
    return this.#digits('max-forwards', 255);
  }

  /** Seconds; a number above 2^32-1 reads as that, since it still means "long". */
  get expires(): number | undefined {
    const value = this.#digits('expires', Infinity);
    return value === undefined ? undefined : Math.min(value, EXPIRES_MAX);
  }

  get contentLength(): number | undefined {
    return this.#digits('content-length', Number.MAX_SAFE_INTEGER);
  }

  /** All behind the empty line, cut to Content-Length when there is one (RFC 3261 §18.3). */
  get body(): string {
    const length = this.contentLength;
    return length === undefined
      ? this.raw.slice(this.bodyStart)
      : this.raw.slice(this.bodyStart, this.bodyStart + length);
  }

  #nameAddr(key: string): NameAddr | undefined {
    const value = this.get(key);
    return value === undefined ? undefined : parseNameAddr(trimBlank(value));
  }

  #digits(key: string, max: number): number | undefined {
    const value = this.get(key);
    return value === undefined ? undefined : parseDigits(value, max);
  }
}
