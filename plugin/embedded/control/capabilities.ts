/** What this server can do beyond drachtio-server, as told at authentication (CONTROL.md). */
export const CAPABILITIES = [
  'failover_by_status',
  'flow_record_route',
  'exact_headers',
  'hostless_contact',
  'flow_closed_events',
  'cancel_own',
  'remove_headers',
  'drop',
  'entry',
  'existing_flow',
  'request_uri',
] as const;

/** The version of drachtio-server whose control protocol this is. */
export const PROTOCOL_VERSION = 'v0.9.10';

export const capabilityToken = (told: readonly string[] = CAPABILITIES): string =>
  `dsbc-embedded;caps=${told.join(',')}`;
