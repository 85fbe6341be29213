import type { CallFlow, CallFlowGroup } from './row';
import { CALLERS } from './callers';
import { ENDPOINT_CALLS } from './endpoint-calls';
import { METHOD_MATRIX } from './method-matrix';
import { URI_MATRIX } from './uri-matrix';
import { MIGRATION } from './migration';
import { OTHER_METHODS } from './other-methods';
import { OUTSIDE_DIALOGS } from './outside-dialogs';
import { PEER_CALLS } from './peer-calls';
import { REFUSALS } from './refusals';
import { REGISTRATIONS } from './registrations';
import { REQUEST_URIS } from './request-uris';
import { SITE_CALLS } from './site-calls';

export type { CallFlow, CallFlowGroup, Expected } from './row';

/** Every call flow, in the order of docs/call-flows.md. */
export const CALL_FLOW_GROUPS: readonly CallFlowGroup[] = [
  REGISTRATIONS,
  ENDPOINT_CALLS,
  CALLERS,
  PEER_CALLS,
  SITE_CALLS,
  MIGRATION,
  OTHER_METHODS,
  METHOD_MATRIX,
  OUTSIDE_DIALOGS,
  REQUEST_URIS,
  URI_MATRIX,
  REFUSALS,
];

export const CALL_FLOWS: readonly CallFlow[] = CALL_FLOW_GROUPS.flatMap(({ rows }) => rows);
