import type { RelayChoice, RequestFacts, Step } from './decision';
import type { DialogMode, NatDialogs } from './settings';

/** Requests whose 2xx opens a dialog, in which more requests follow. */
const OPENS_DIALOG = new Set(['INVITE', 'SUBSCRIBE', 'REFER']);

export const opensDialog = (method: string): boolean => OPENS_DIALOG.has(method);

/** Streams reach an endpoint only through the connection it opened, so its dialogs need us as NAT does. */
const isStream = (transport: string): boolean => transport !== 'udp';

/** What the choice looks at beyond the request. */
export interface RelayContext {
  readonly dialogs: DialogMode;
  readonly natDialogs: NatDialogs;
  /** An endpoint of this dialog can't be reached by its Contact alone. */
  readonly far: boolean;
  readonly strip: readonly string[];
  /** The Request-URI has to become another one than `proxy` of this server would send. */
  readonly rewritten?: boolean;
}

/** Whether the sender can be reached only through the flow it uses. */
export const isFarSender = (facts: RequestFacts): boolean =>
  facts.behindNat || isStream(facts.source.transport);

/** Whether the endpoint that a flow token names can be reached only through that flow. */
export function isFarFlow(facts: RequestFacts): boolean {
  const { flow, target } = facts;
  if (flow?.transport === undefined || isStream(flow.transport) || flow.behindNat === true) return true;
  return target.host.replace(/^\[|\]$/g, '') !== flow.address || (target.port ?? 5060) !== flow.port;
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
 * | SUBSCRIBE or REFER whose Contact has no real host | b2bua: proxying it harms drachtio-server |
 * | any other INVITE, SUBSCRIBE, REFER | proxy, bypass |
 *
 * A proxied request carries all its headers, so one with headers that must go is sent by b2bua.
 */
export function chooseRelay(facts: RequestFacts, context: RelayContext, steps?: Step[]): RelayChoice {
  const choice = choose(facts, context);
  steps?.push({ step: 'relay', because: words(choice, facts) });
  return choice;
}

function choose(facts: RequestFacts, context: RelayContext): RelayChoice {
  const { dialogs, natDialogs, far, strip, rewritten = false } = context;
  const { method, server, target } = facts;
  const isUrn = target.scheme === 'urn';
  if (!opensDialog(method) && !isUrn) return { relay: 'forward', onPath: false, failover: true, strip };
  const forFlow = dialogs === 'auto' && far && natDialogs !== 'bypass';
  const onPath = dialogs === 'on_path' || forFlow;
  if (isUrn) return { relay: 'proxy', onPath, failover: true, strip };
  const b2bua: RelayChoice = { relay: 'b2bua', onPath: true, failover: true, strip };
  if (strip.length > 0 && !server.removeHeaders) return b2bua;
  if (rewritten && method !== 'REFER') return b2bua;
  if (onPath && far && !server.flowRecordRoute) return b2bua;
  if (method !== 'INVITE' && !server.hostlessContactSafe && !hasRealContact(facts)) return b2bua;
  if (method === 'INVITE' && facts.reliableProvisionals && !server.failoverByStatus) {
    return { relay: 'proxy', onPath: true, failover: false, strip };
  }
  return { relay: 'proxy', onPath, failover: true, strip };
}

function hasRealContact({ contact }: RequestFacts): boolean {
  return contact !== undefined && contact.host !== '' && !contact.host.endsWith('.invalid');
}

function words(choice: RelayChoice, facts: RequestFacts): string {
  if (choice.relay === 'forward') return `forward: ${facts.method} opens no dialog`;
  if (choice.relay === 'b2bua')
    return 'b2bua: the dialog must come through us and this server can carry it no other way';
  const path = choice.onPath ? 'on path, with Record-Route' : 'bypass: what follows goes direct';
  return `proxy, ${path}${choice.failover ? '' : ', one attempt'}`;
}
