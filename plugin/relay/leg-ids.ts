import type { SipDialog } from '../link/sip-dialog';

/** Call-ID and tags of a dialog, as Replaces (RFC 3891) writes them. */
interface DialogName {
  readonly callId: string;
  readonly toTag: string;
  readonly fromTag: string;
}

interface Known {
  readonly leg: SipDialog;
  readonly other: SipDialog;
}

/**
 * Which leg belongs to which. A transfer names a dialog by its Call-ID and tags, and each side knows only those of
 * its own leg: what crosses from one side to the other is renamed.
 */
export class LegIds {
  private readonly byCallId = new Map<string, Known>();

  get size(): number {
    return this.byCallId.size;
  }

  add(a: SipDialog, b: SipDialog): void {
    this.byCallId.set(a.callId, { leg: a, other: b });
    this.byCallId.set(b.callId, { leg: b, other: a });
  }

  remove(a: SipDialog, b: SipDialog): void {
    for (const leg of [a, b])
      if (this.byCallId.get(leg.callId)?.leg === leg) this.byCallId.delete(leg.callId);
  }

  /** A Replaces value, renamed to the other leg of the call it names; as it is when it names none of ours. */
  mapReplaces(value: string): string {
    const [callId = '', ...params] = value.split(';').map((part) => part.trim());
    const tag = (name: string): string =>
      params.find((part) => part.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
    const named: DialogName = { callId, toTag: tag('to-tag'), fromTag: tag('from-tag') };
    const mapped = this.opposite(named);
    if (mapped === undefined) return value;
    const rest = params.filter((part) => !/^(to|from)-tag=/i.test(part));
    return [mapped.callId, `to-tag=${mapped.toTag}`, `from-tag=${mapped.fromTag}`, ...rest].join(';');
  }

  /** A Refer-To whose URI carries a Replaces (RFC 3891 §7), renamed likewise. */
  mapReferTo(value: string): string {
    return value.replace(/([?&]Replaces=)([^&>]+)/i, (whole, before: string, escaped: string) => {
      const plain = unescapeOrKeep(escaped);
      const mapped = this.mapReplaces(plain);
      return mapped === plain ? whole : before + encodeURIComponent(mapped);
    });
  }

  /** A dialog-info document (RFC 4235): the Call-IDs and tags of our legs in its attributes, renamed. */
  mapDialogInfo(body: string): string {
    return body.replace(/<dialog\b[^>]*>/g, (element) => {
      const callId = /\bcall-id="([^"]*)"/.exec(element)?.[1];
      const known = callId === undefined ? undefined : this.byCallId.get(callId);
      if (known === undefined) return element;
      const { leg, other } = known;
      return element
        .replace(/\bcall-id="[^"]*"/, `call-id="${other.callId}"`)
        .replace(/\b(local|remote)-tag="([^"]*)"/g, (whole, side: string, tag: string) => {
          if (tag === leg.localTag) return `${side}-tag="${other.remoteTag}"`;
          if (tag === leg.remoteTag) return `${side}-tag="${other.localTag}"`;
          return whole;
        });
    });
  }

  private opposite({ callId, toTag, fromTag }: DialogName): DialogName | undefined {
    const known = this.byCallId.get(callId);
    if (known === undefined) return undefined;
    const { leg, other } = known;
    // The far end of the leg calls its own tag "from" and ours "to"; its peer's far end, the receiver, is "to".
    if (toTag === leg.localTag && fromTag === leg.remoteTag) {
      return { callId: other.callId, toTag: other.remoteTag, fromTag: other.localTag };
    }
    if (toTag === leg.remoteTag && fromTag === leg.localTag) {
      return { callId: other.callId, toTag: other.localTag, fromTag: other.remoteTag };
    }
    return undefined;
  }
}

function unescapeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
