import type { Socket } from 'node:net';
import { DsbcError } from '../errors';
import { parseMessage } from '../message/parse';
import type { MonotonicClock } from '../telemetry/clock';
import { ClientOpening } from './client-opening';
import type { CommandChannel } from './command-channel';
import type { InboundRequest, ResponseSpec, SipLink } from './sip-link';
import { Leg } from './leg';
import type { LegTable } from './leg-table';
import { ownRequestText, runOwnRequest } from './own-request';
import { plainContact, transportOfUri } from './secure-contact';
import type { ServerRequests } from './server-requests';
import type { Opening, OpeningRequest, SipDialog } from './sip-dialog';

export interface DialogCreationParts {
  readonly link: SipLink;
  readonly channel: CommandChannel;
  readonly requests: ServerRequests;
  readonly legs: LegTable;
  /** The connection that is up. */
  readonly socket: () => Socket | undefined;
  readonly now: MonotonicClock;
}

/** How the dialogs of a link begin (RFC 3261 §12.1): with a request of ours, or with our answer. */
export class DialogCreation {
  constructor(private readonly parts: DialogCreationParts) {}

  open(request: OpeningRequest): Opening {
    const { link, channel } = this.parts;
    const { headers, nextHop, uri } = request;
    const contact = plainContact(
      transportOfUri(nextHop ?? uri),
      uri,
      headers,
      link.addresses,
      link.capabilities,
    );
    const text = ownRequestText({ ...request, headers: [...contact, ...headers] }, link.capabilities);
    const socket = this.parts.socket();
    if (socket === undefined) return lostOpening();
    channel.assertFits(text, link.capabilities);
    return new ClientOpening(text, request, {
      ...channel.ownPort(socket),
      knowsEarlyDialogs: link.capabilities.exactHeaders,
      leg: (id) => this.leg(id, socket),
    });
  }

  async respond(request: InboundRequest, response: ResponseSpec): Promise<SipDialog> {
    const { link, requests } = this.parts;
    const entry = requests.entryOf(request);
    let leg: Leg | undefined;
    // At once, not after a promise: the ACK or a BYE may be in the next frame already.
    await requests.give(request, response, (reply) => {
      const id = reply.tokens[7] ?? '';
      if (entry === undefined || id === '') return;
      // The answers to one request make one leg; those to another branch of the same call another.
      leg = entry.leg?.id === id ? entry.leg : this.parts.legs.add(this.make(id, entry.socket));
      const sent = reply.bytes && parseMessage(reply.bytes).message;
      if (sent) leg.learn(sent, 'sent');
      leg.openedBy = entry.serverId;
      entry.leg = leg;
      // Cancelled or refused while the answer that made it was on its way.
      if (entry.failed) leg.forget();
    });
    if (leg === undefined) {
      throw new DsbcError('DSBC_LINK_REFUSED', 'the SIP server made no dialog', {
        details: { link: link.name },
      });
    }
    return leg;
  }

  private leg(id: string, socket: Socket): Leg {
    return this.parts.legs.leg(id, () => this.make(id, socket));
  }

  private make(id: string, socket: Socket): Leg {
    const { link, channel, legs, now } = this.parts;
    return new Leg(id, socket, {
      link,
      sendAndForget: (on, text) => {
        channel.sendAndForget(on, text);
      },
      run: (leg, text, request) => {
        const { cancel, signal, onProvisional } = request;
        // drachtio-server knows an INVITE inside a dialog by the transaction that opened the dialog.
        const cancelledBy = link.capabilities.exactHeaders ? undefined : leg.openedBy;
        const own = {
          uri: 'sip:placeholder',
          timeoutMs: request.timeoutMs,
          ...(cancel === undefined ? {} : { cancel }),
          ...(cancelledBy === undefined ? {} : { cancelledBy }),
          ...(signal === undefined ? {} : { signal }),
        };
        const port = channel.ownPort(leg.socket);
        return runOwnRequest(text, own, link.capabilities, port, onProvisional);
      },
      gone: (gone) => {
        legs.end(gone, now());
      },
    });
  }
}

const lostOpening = (): Opening => ({
  outcome: Promise.resolve({ kind: 'link_lost' }),
  early: undefined,
  cancel: () => undefined,
  abandon: () => undefined,
});
