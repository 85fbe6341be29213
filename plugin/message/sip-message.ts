import { isToken, parseDigits } from './chars';
import { headerKey } from './header-name';
import { splitList } from './list';
import { nameAddrFrom, type NameAddr } from './name-addr';
import { unquote } from './parameters';
import { ADDRESS, CREDENTIALS, FLAG, HEAD, HEADER_IDS, ID, KIND, LINE, VIA } from './scan/layout';
import { scan } from './scanner';
import { unfold } from './unfold';
import { viaFrom, type Via } from './via';

/** One header line. */
export interface Header {
  /** As sent. */
  readonly name: string;
  /** The long lower-case name: `via`, `from`, `contact`. */
  readonly key: string;
  /** Unfolded (RFC 3261 §7.3.1: a fold becomes one space) and trimmed. */
  readonly value: string;
}

/** Headers whose elements the scanner takes apart. */
export type ElementHeader = 'via' | 'from' | 'to' | 'contact' | 'route' | 'record-route' | 'path';

/** RFC 3261 §8.1.1.5: a CSeq number is below 2^31. */
const CSEQ_MAX = 2 ** 31 - 1;
/** RFC 3261 §20.19: delta-seconds. */
const EXPIRES_MAX = 2 ** 32 - 1;

const IDS: ReadonlyMap<string, number> = new Map(HEADER_IDS.map((name, id) => [name, id] as const).slice(1));

/**
 * A SIP message that was taken apart, never changed. Strings are latin1: one char per byte, bodies too, so
 * that any byte survives. The header scanner says where things are; what is asked for is sliced then. Values that are
 * missing or malformed read as undefined; `checkRequest` says which it was. Made by `parseMessage`.
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
  /** Where the body begins in `raw`. */
  readonly bodyStart: number;

  #headers: readonly Header[] | undefined;
  #vias: readonly Via[] | undefined;
  #contacts: readonly NameAddr[] | undefined;
  #from: NameAddr | undefined | null = null;
  #to: NameAddr | undefined | null = null;

  constructor(
    /** The whole message as it came. */
    readonly raw: string,
  ) {
    const table = scan(raw);
    const isResponse = table[HEAD.KIND] === KIND.RESPONSE;
    this.kind = isResponse ? 'response' : 'request';
    this.method = isResponse ? '' : this.#pair(table, HEAD.METHOD);
    this.reason = isResponse ? this.#pair(table, HEAD.METHOD) : '';
    this.uri = this.#pair(table, HEAD.URI);
    // A request line that is malformed can still be answered, as SIP/2.0.
    this.version = this.#pair(table, HEAD.VERSION) || 'SIP/2.0';
    this.status = table[HEAD.STATUS] ?? 0;
    this.bodyStart = table[HEAD.BODY] ?? raw.length;
  }

  /** In order, one per header line. */
  get headers(): readonly Header[] {
    if (this.#headers !== undefined) return this.#headers;
    const table = scan(this.raw);
    const headers: Header[] = [];
    let at: number = HEAD.SIZE;
    for (let line = table[HEAD.LINES] ?? 0; line > 0; line--) {
      const name = this.#pair(table, at + LINE.NAME);
      const key = HEADER_IDS[table[at + LINE.ID] ?? 0] || headerKey(name);
      headers.push({ name, key, value: unfold(this.#pair(table, at + LINE.VALUE)) });
      at = table[at + LINE.NEXT] ?? 0;
    }
    this.#headers = headers;
    return headers;
  }

  /** The first line's value of a header named in full or compact, in any case. */
  get(name: string): string | undefined {
    const key = headerKey(name);
    const id = IDS.get(key);
    if (id === undefined) return this.headers.find((header) => header.key === key)?.value;
    const table = scan(this.raw);
    const at = table[HEAD.FIRST + id] ?? 0;
    return at === 0 ? undefined : unfold(this.#pair(table, at + LINE.VALUE));
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
    this.#vias ??= this.#elements(ID.VIA, VIA.SIZE, (table, at) =>
      ((table[at + VIA.FLAGS] ?? 0) & FLAG.VALID) === 0 ? undefined : viaFrom(this.raw, table, at),
    );
    return this.#vias;
  }

  /** The topmost Via; undefined when there is none that is well formed. */
  get via(): Via | undefined {
    return this.vias[0];
  }

  get from(): NameAddr | undefined {
    if (this.#from === null) this.#from = this.#address(ID.FROM);
    return this.#from;
  }

  get to(): NameAddr | undefined {
    if (this.#to === null) this.#to = this.#address(ID.TO);
    return this.#to;
  }

  /** All Contacts; `*` is one with the URI `*`; malformed ones are left out. */
  get contacts(): readonly NameAddr[] {
    this.#contacts ??= this.#elements(ID.CONTACT, ADDRESS.SIZE, (table, at) => this.#read(table, at));
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

  /** The username of the first Authorization, else of the first Proxy-Authorization (RFC 3261 §20.7); without quotes and escapes. */
  get digestUsername(): string | undefined {
    const table = scan(this.raw);
    for (const id of [ID.AUTHORIZATION, ID.AUTHORIZATION + 1]) {
      const line = table[HEAD.FIRST + id] ?? 0;
      const at = line + LINE.SIZE + CREDENTIALS.USERNAME;
      if (line === 0 || (table[at] ?? -1) < 0) continue;
      const username = unfold(this.#pair(table, at));
      return username.startsWith('"') ? unquote(username, 0, username.length) : username;
    }
    return undefined;
  }

  /** All behind the empty line, cut to Content-Length when there is one (RFC 3261 §18.3). */
  get body(): string {
    const length = this.contentLength;
    return length === undefined
      ? this.raw.slice(this.bodyStart)
      : this.raw.slice(this.bodyStart, this.bodyStart + length);
  }

  /** How many elements a header has in all its lines, and how many of them are well formed, have a well-formed URI, or are `*`. */
  count(name: ElementHeader): { elements: number; valid: number; validUris: number; stars: number } {
    const result = { elements: 0, valid: 0, validUris: 0, stars: 0 };
    this.#elements(IDS.get(name) ?? 0, name === 'via' ? VIA.SIZE : ADDRESS.SIZE, (table, at) => {
      const flags = table[at + ADDRESS.FLAGS] ?? 0;
      result.elements++;
      if ((flags & FLAG.VALID) !== 0) result.valid++;
      if ((flags & FLAG.URI_VALID) !== 0) result.validUris++;
      if ((flags & FLAG.STAR) !== 0) result.stars++;
      return undefined;
    });
    return result;
  }

  /** The same message with other header lines: start line and body stay. */
  withHeaders(headers: readonly Pick<Header, 'name' | 'value'>[]): SipMessage {
    const startEnd = this.raw.indexOf('\r\n', this.raw.search(/[^\r\n]/));
    const lines = headers.map(({ name, value }) => `${name}: ${value}\r\n`).join('');
    return new SipMessage(`${this.raw.slice(0, startEnd + 2)}${lines}\r\n${this.raw.slice(this.bodyStart)}`);
  }

  #pair(table: Int32Array, at: number): string {
    const start = table[at] ?? -1;
    return start < 0 ? '' : this.raw.slice(start, table[at + 1]);
  }

  /** Visits each element of all lines of a header; what `read` leaves undefined is left out. */
  #elements<T>(id: number, size: number, read: (table: Int32Array, at: number) => T | undefined): T[] {
    const table = scan(this.raw);
    const found: T[] = [];
    let line = table[HEAD.FIRST + id] ?? 0;
    if (line === 0) return found;
    const end = this.#tableEnd(table);
    while (line < end) {
      const next = table[line + LINE.NEXT] ?? end;
      if (table[line + LINE.ID] === id) {
        for (let at = line + LINE.SIZE; at < next; at += size) {
          const element = read(table, at);
          if (element !== undefined) found.push(element);
        }
      }
      line = next;
    }
    return found;
  }

  #tableEnd(table: Int32Array): number {
    return table[HEAD.USED] ?? 0;
  }

  #read(table: Int32Array, at: number): NameAddr | undefined {
    const flags = table[at + ADDRESS.FLAGS] ?? 0;
    if ((flags & FLAG.STAR) !== 0) return { uri: '*', params: [], text: '*' };
    return (flags & FLAG.VALID) === 0 ? undefined : nameAddrFrom(this.raw, table, at);
  }

  #address(id: number): NameAddr | undefined {
    const table = scan(this.raw);
    const line = table[HEAD.FIRST + id] ?? 0;
    const at = line + LINE.SIZE;
    if (line === 0 || at >= (table[line + LINE.NEXT] ?? 0)) return undefined;
    return ((table[at + ADDRESS.FLAGS] ?? 0) & FLAG.VALID) === 0
      ? undefined
      : nameAddrFrom(this.raw, table, at);
  }

  #digits(key: string, max: number): number | undefined {
    const value = this.get(key);
    return value === undefined ? undefined : parseDigits(value, max);
  }
}
