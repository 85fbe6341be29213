import { param, type NameAddr } from '../message/name-addr';
import type { SipMessage } from '../message/sip-message';
import { parseUri } from '../message/uri';

/** What a 2xx to a REGISTER says of one Contact that the device gave. */
export interface LearntContact {
  /** The Contact's URI, as the device wrote it. */
  readonly uri: string;
  /** What stays the same when this device registers anew from elsewhere. */
  readonly device: string;
  /** Seconds; 0: it is gone. */
  readonly expires: number;
}

/** What a registration changed. */
export interface Learnt {
  /** Address of record: `user@host` of To. */
  readonly aor: string;
  /** `Contact: *`: all bindings of the address of record are gone. */
  readonly all: boolean;
  readonly contacts: readonly LearntContact[];
}

/** RFC 3261 §10.2.1.1: what a registrar assumes when nobody says. */
const DEFAULT_EXPIRES_S = 3600;

/**
 * What a REGISTER and its 2xx say together. Only the Contacts of the request count: the answer lists those of other
 * devices too. Their lifetime is what the answer says (RFC 3261 §10.3 step 8): the Contact's `expires`, else the Expires header, else what
 * was asked. Undefined for a query (no Contact) and for an answer that is no 2xx.
 */
export function learn(register: SipMessage, answer: SipMessage): Learnt | undefined {
  if (answer.status < 200 || answer.status > 299) return undefined;
  const { contacts, to } = register;
  if (to === undefined || contacts.length === 0) return undefined;
  const aor = aorOf(to.uri);
  if (contacts.some((contact) => contact.uri === '*')) return { aor, all: true, contacts: [] };
  // Read once: a request may have a thousand Contacts.
  const { callId } = register;
  const asked = register.expires ?? DEFAULT_EXPIRES_S;
  const granted = new Granted(answer);
  return {
    aor,
    all: false,
    contacts: contacts.map((contact) => ({
      uri: contact.uri,
      device: deviceOf(contact, callId),
      expires: granted.lifetime(contact, asked),
    })),
  };
}

/** `user@host` without what may differ between two REGISTERs of one account. */
function aorOf(uri: string): string {
  const parsed = parseUri(uri);
  if (parsed === undefined) return uri;
  return parsed.host === '' ? (parsed.user ?? uri) : `${parsed.user ?? ''}@${parsed.host}`;
}

/** RFC 5626 §6: instance and reg-id name a device's flow. Without: RFC 3261 §10.2, a device keeps its Call-ID. */
function deviceOf(contact: NameAddr, callId: string | undefined): string {
  const instance = param(contact.params, '+sip.instance');
  if (typeof instance !== 'string') return `call:${callId ?? contact.uri}`;
  const regId = param(contact.params, 'reg-id');
  return `instance:${instance};${typeof regId === 'string' ? regId : ''}`;
}

/** True for a device known by its Call-ID alone. */
export const isCallDevice = (device: string): boolean => device.startsWith('call:');

/** What a registrar grants in its 2xx. */
class Granted {
  readonly #expires: number | undefined;
  readonly #contacts = new Map<string, NameAddr>();

  constructor(answer: SipMessage) {
    this.#expires = answer.expires;
    for (const contact of answer.contacts) {
      const name = nameOf(contact.uri);
      if (!this.#contacts.has(name)) this.#contacts.set(name, contact);
    }
  }

  /** @param otherwise seconds asked for by the request as a whole */
  lifetime(contact: NameAddr, otherwise: number): number {
    const asked = seconds(param(contact.params, 'expires')) ?? otherwise;
    if (asked === 0) return 0;
    const granted = this.#contacts.get(nameOf(contact.uri));
    // A registrar may rewrite the host; then the header, or what was asked, is the best guess.
    return (granted && seconds(param(granted.params, 'expires'))) ?? this.#expires ?? asked;
  }
}

/** The same for URIs that are equal as far as a registrar keeps them: scheme, user, host and port. */
function nameOf(uri: string): string {
  const parsed = parseUri(uri);
  if (parsed === undefined) return uri;
  const { scheme, user, host, port = 5060 } = parsed;
  return JSON.stringify([scheme, user ?? null, host, port]);
}

function seconds(value: string | true | undefined): number | undefined {
  return typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}
