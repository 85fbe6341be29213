import { DRACHTIO_CAPABILITIES, type LinkCapabilities } from './sip-link';

/** Names as the embedded server tells them at authentication (plugin/embedded/CONTROL.md). */
const NAMES: Readonly<Record<string, keyof LinkCapabilities>> = {
  failover_by_status: 'failoverByStatus',
  flow_record_route: 'flowRecordRoute',
  exact_headers: 'exactHeaders',
  hostless_contact: 'hostlessContactSafe',
  flow_closed_events: 'flowClosedEvents',
  cancel_own: 'cancelOwnTransactions',
  remove_headers: 'removeHeaders',
  drop: 'dropRequests',
  entry: 'entrySelection',
  existing_flow: 'existingFlow',
  request_uri: 'proxiedRequestUri',
};

/** A server in words: the embedded one tells as its version which drachtio-server's protocol it speaks. */
export const serverName = (version = '', token = ''): string =>
  token.startsWith('dsbc-embedded') ? `embedded (protocol of ${version})` : version;

/** Reads the token `dsbc-embedded;caps=a,b`; without it the server is taken for a drachtio-server. */
export function readCapabilities(token: string | undefined): LinkCapabilities {
  const list = /;caps=([^;|]*)/.exec(token ?? '')?.[1];
  if (list === undefined) return DRACHTIO_CAPABILITIES;
  const found: Record<string, boolean> = {};
  for (const name of list.split(',')) {
    const capability = NAMES[name.trim()];
    if (capability !== undefined) found[capability] = true;
  }
  // Whoever sends headers byte for byte does so with bodies.
  if (found['exactHeaders'] === true) found['binaryBodies'] = true;
  return Object.freeze({ ...DRACHTIO_CAPABILITIES, ...found });
}
