import type { RelayChoice, RequestFacts, Step } from './decision';
import type { DialogMode, NatDialogs } from './settings';

/** Requests whose 2xx opens a dialog, in which more requests follow. */
const OPENS_DIALOG = new Set(['INVITE', 'SUBSCRIBE', 'REFER']);

export const opensDialog = (method: string): boolean => OPENS_DIALOG.has(method);

/** Streams reach an endpoint only through the connection it opened, so its dialogs need us as NAT does. */
const isStream = (transport: string): boolean => transport !== 'udp';

/** Behind NAT, which a site may traverse by itself; or on a stream, which only we can write to. */
export type Far = 'nat' | 'stream';

/** What the choice looks at beyond the request. */
export interface RelayContext {
  readonly dialogs: DialogMode;
  readonly natDialogs: NatDialogs;
  /** Why an endpoint of this dialog can't be reached by its Contact alone; undefined: it can. */
  readonly far: Far | undefined;
  readonly strip: readonly string[];
  /** The Request-URI has to become another one than `proxy` of this server would send. */
  readonly rewritten?: boolean;
}

/** Whether the sender can be reached only through the flow it uses. */
export function farSender({ source, behindNat }: RequestFacts): Far | undefined {
  if (isStream(source.transport)) return 'stream';
  return behindNat ? 'nat' : undefined;
}

/** Whether the endpoint that a flow token names can be reached only through that flow. */
export function farFlow({ flow, target }: RequestFacts): Far | undefined {
  if (flow?.transport === undefined || isStream(flow.transport)) return 'stream';
  const isThere = target.host.replace(/^\[|\]$/g, '') === flow.address && (target.port ?? 5060) === flow.port;
  return flow.behindNat === true || !isThere ? 'nat' : undefined;
}

/**
 * How a request is carried (design: "Which relay").
 *
 * | request | relay |
 * | --- | --- |
 * | opens no dialog | forward |
 * | `urn:` | proxy: drachtio-server can't send it as a client |
 * | opens a dialog, stays on path for NAT or a stream | proxy with our token in Record-Route, or b2bua |
 * | opens a dialog, its Request-URI must become another one, behind drachtio-server | b2bua: a proxied one stays as it was |
 * | opens a dialog, stays on path by configuration | proxy with Record-Route |
 * | INVITE with 100rel, bypass, behind drachtio-server | proxy with Record-Route, one attempt: a PRACK past us would miss |
 * | SUBSCRIBE whose Contact has no real host | b2bua: proxying it harms drachtio-server |
 * | any other INVITE, SUBSCRIBE, REFER | proxy, bypass |
 *
 * drachtio-server hands over no REFER that is outside of a dialog; two dialogs are made of INVITE and SUBSCRIBE alone
 * (relay/server-traps.ts refuses others).
 * A proxied request carries all its headers, so one with headers that must go is sent by b2bua.
 */
export function chooseRelay(facts: RequestFacts, context: RelayContext, steps?: Step[]): RelayChoice {
  const choice = choose(facts, context);
  steps?.push({ step: 'relay', because: words(choice, facts, context) });
  return choice;
}

function choose(facts: RequestFacts, context: RelayContext): RelayChoice {
  const { dialogs, natDialogs, far, strip, rewritten = false } = context;
  const { method, server, target } = facts;
  const isUrn = target.scheme === 'urn';
  if (!opensDialog(method) && !isUrn) return { relay: 'forward', onPath: false, failover: true, strip };
  const forFlow = dialogs === 'auto' && (far === 'stream' || (far === 'nat' && natDialogs !== 'bypass'));
  const onPath = dialogs === 'on_path' || forFlow;
  if (isUrn) return { relay: 'proxy', onPath, failover: true, strip };
  const b2bua: RelayChoice = { relay: 'b2bua', onPath: true, failover: true, strip };
  if (strip.length > 0 && !server.removeHeaders) return b2bua;
  if (rewritten && method !== 'REFER') return b2bua;
  if (onPath && far !== undefined && !server.flowRecordRoute) return b2bua;
  if (method !== 'INVITE' && !server.hostlessContactSafe && !hasRealContact(facts)) return b2bua;
  if (method === 'INVITE' && facts.reliableProvisionals && !server.failoverByStatus) {
    return { relay: 'proxy', onPath: true, failover: false, strip };
  }
  return { relay: 'proxy', onPath, failover: true, strip };
}

function hasRealContact({ contact }: RequestFacts): boolean {
  return contact !== undefined && contact.host !== '' && !contact.host.endsWith('.invalid');
}

/** The relay and why it is that one, for `dsbc explain`. */
function words(choice: RelayChoice, facts: RequestFacts, context: RelayContext): string {
  const { method, server } = facts;
  if (choice.relay === 'forward')
    return `forward: ${method} opens no dialog; it goes on with our Via as a transaction of its own`;
  const onPath = onPathWords(facts, context);
  if (choice.relay === 'b2bua') return `b2bua, two dialogs: ${b2buaWords(facts, context, onPath)}`;
  const oneAttempt = choice.failover ? '' : '; one attempt, since 100rel cannot be failed over';
  if (!choice.onPath)
    return `proxy, bypass: our Via but no Record-Route, what follows in the dialog goes direct`;
  const why = onPath ?? (server.failoverByStatus ? 'configured so' : 'a PRACK has to come through us');
  return `proxy, on path with Record-Route: ${why}${oneAttempt}`;
}

/** Why the dialog has to come through us; undefined: it has not. */
function onPathWords(facts: RequestFacts, { dialogs, natDialogs, far }: RelayContext): string | undefined {
  if (dialogs === 'on_path') return 'the configuration says dialogs: on_path';
  if (dialogs !== 'auto' || !far || natDialogs === 'bypass') return undefined;
  if (facts.flow !== undefined) return 'the endpoint can be reached only along the flow it registered over';
  if (isStream(facts.source.transport)) return 'the caller is on a connection that only it can open';
  return 'the caller is behind NAT';
}

function b2buaWords(facts: RequestFacts, context: RelayContext, onPath: string | undefined): string {
  const { server } = facts;
  if (context.strip.length > 0 && !server.removeHeaders)
    return `the SIP server cannot proxy it without ${context.strip.join(', ')}`;
  if (context.rewritten === true) return 'the SIP server cannot proxy it with another Request-URI';
  return `${onPath ?? 'its Contact names no host'}, and the SIP server can carry it no other way`;
}
