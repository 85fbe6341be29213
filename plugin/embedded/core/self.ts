import { parseUri, type SipUri } from '../../message/uri';
import { plainAddress, type EntryAddress } from '../transport/flow';

const DEFAULT_PORT = 5060;

/** Knows what names this server. */
export class Self {
  readonly #entries: () => readonly EntryAddress[];

  constructor(entries: () => readonly EntryAddress[]) {
    this.#entries = entries;
  }

  /** Whether an address and port are one of our entry addresses. */
  isOwn(host: string, port: number | undefined): boolean {
    const address = plainAddress(host);
    const wanted = port ?? DEFAULT_PORT;
    return this.#entries().some((entry) => entry.address === address && entry.port === wanted);
  }

  /** Whether a SIP URI names one of our entry addresses; never for other schemes. */
  isOwnUri(uri: SipUri | undefined): boolean {
    return (
      uri !== undefined && (uri.scheme === 'sip' || uri.scheme === 'sips') && this.isOwn(uri.host, uri.port)
    );
  }

  namesUs(text: string): boolean {
    return this.isOwnUri(parseUri(text));
  }
}
