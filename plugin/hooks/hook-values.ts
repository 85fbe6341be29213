import { SipMessage } from '../message/sip-message';

/** What hooks see of a message: as it is, with all that is read from it frozen. */
class ReadOnlyMessage extends SipMessage {
  constructor(raw: string) {
    super(raw);
    Object.freeze(this);
  }

  override get headers(): SipMessage['headers'] {
    return frozen(super.headers);
  }

  override get vias(): SipMessage['vias'] {
    return frozen(super.vias);
  }

  override get from(): SipMessage['from'] {
    return frozen(super.from);
  }

  override get to(): SipMessage['to'] {
    return frozen(super.to);
  }

  override get contacts(): SipMessage['contacts'] {
    return frozen(super.contacts);
  }
}

const messages = new WeakMap<SipMessage, SipMessage>();

function readOnly(message: SipMessage): SipMessage {
  if (message instanceof ReadOnlyMessage) return message;
  let made = messages.get(message);
  if (made === undefined) messages.set(message, (made = new ReadOnlyMessage(message.raw)));
  return made;
}

/** Freezes lists and plain objects in place, all the way down; what is frozen already is taken to be so. */
function frozen<Value>(value: Value): Value {
  if (!isPlain(value) || Object.isFrozen(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}

/**
 * A value that hooks cannot change, nor whoever made it behind their back: lists and plain objects are copied and
 * frozen, messages are read only. Everything else (the notes, an error, a signal) is handed over as it is.
 */
export function asValue<Value>(value: Value): Value {
  if (value instanceof SipMessage) return readOnly(value) as Value;
  if (!isPlain(value)) return value;
  const copy = Array.isArray(value)
    ? value.map(asValue)
    : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, asValue(each as unknown)]));
  return Object.freeze(copy) as Value;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
