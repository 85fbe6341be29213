import type { SipDialog } from '../link/sip-dialog';
import type { HeaderLine } from '../link/sip-link';
import { headerKey } from '../message/header-name';

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

  mapHeaders(lines: readonly HeaderLine[]): HeaderLine[] {
    return lines.map(([name, value]) => [name, this.mapHeader(headerKey(name), value)]);
  }

  /**
   * A header that names a dialog, renamed to the other leg of the call it names: Replaces (RFC 3891), Join (RFC 3911),
   * Target-Dialog (RFC 4538), and Refer-To with a Replaces in its URI. As it is when it names none of ours.
   * @param key the header's long name in lower case
   */
  mapHeader(key: string, value: string): string {
    switch (key) {
      case 'replaces':
      case 'join':
        return this.mapDialog(value, 'to-tag', 'from-tag');
      case 'target-dialog':
        return this.mapDialog(value, 'remote-tag', 'local-tag');
      case 'refer-to':
        return this.mapReferTo(value);
      default:
        return value;
    }
  }

  /** `theirs`: the parameter with the tag of whoever receives it, `own`: of whoever sent it. */
  private mapDialog(value: string, theirs: string, own: string): string {
    const [callId = '', ...params] = value.split(';').map((part) => part.trim());
    const tag = (name: string): string =>
      params.find((part) => part.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
    const mapped = this.opposite({ callId, toTag: tag(theirs), fromTag: tag(own) });
    if (mapped === undefined) return value;
    const isTag = (part: string): boolean =>
      [theirs, own].some((name) => part.toLowerCase().startsWith(`${name}=`));
    const rest = params.filter((part) => !isTag(part));
    return [mapped.callId, `${theirs}=${mapped.toTag}`, `${own}=${mapped.fromTag}`, ...rest].join(';');
  }

  /** RFC 3891 §7. */
  private mapReferTo(value: string): string {
    return value.replace(/([?&]Replaces=)([^&>]+)/i, (whole, before: string, escaped: string) => {
      const plain = unescapeOrKeep(escaped);
      const mapped = this.mapDialog(plain, 'to-tag', 'from-tag');
      return mapped === plain ? whole : before + encodeURIComponent(mapped);
    });
  }

  /** A dialog-info document (RFC 4235): the Call-IDs and tags of our legs in its attributes, renamed. */
  mapDialogInfo(body: string): string {
    return body.replace(/<dialog\b[^<>]*>/g, (element) => {
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
