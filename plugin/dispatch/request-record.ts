import type { InboundRequest } from '../link/sip-link';
import type { Oversize } from './order';
import type { AttemptRecord, LossCause, RelayResult } from '../relay/relay';
import type { Decision, Role } from '../routing/decision';

/** How a request ended, beside a status. */
export const ENDINGS = ['answered', 'cancelled', 'duplicate', 'dropped', 'lost', 'passed'] as const;
export type Ending = (typeof ENDINGS)[number];

/** What one log line says of one request, and what the metrics count. Filled in as the request goes its way. */
export interface RequestRecord {
  readonly id: string;
  readonly method: string;
  readonly callId: string;
  readonly server: string;
  readonly source: string;
  readonly transport: string;
  role: Role;
  sourceName?: string | undefined;
  /** `account 1001`. */
  key?: string | undefined;
  decision?: Decision['kind'] | undefined;
  relay?: string | undefined;
  onPath?: boolean | undefined;
  system?: string | undefined;
  /** The site and node that answered, or that were tried last. */
  site?: string | undefined;
  node?: string | undefined;
  attempts: readonly AttemptRecord[];
  status?: number | undefined;
  ending: Ending;
  /** The reason phrase of an answer of ours; why it was not taken; the error that ended it. */
  reason?: string | undefined;
  /** Why we answered it ourselves or left it without an answer, as `dsbc explain` says it. */
  because?: string | undefined;
  /** The hook that had the last word about its way, and that hook's name. */
  hook?: string | undefined;
  hookName?: string | undefined;
  /** Why the caller got nothing from us. */
  cause?: LossCause | undefined;
  /** It outgrew `mtu`: by how much, and what it was sent over first. */
  oversize?: Oversize | undefined;
  milliseconds: number;
}

export const newRecord = (id: string, request: InboundRequest): RequestRecord => ({
  id,
  method: request.message.method,
  callId: request.message.callId ?? '',
  server: request.link.name,
  source: request.source.address,
  transport: request.source.transport,
  role: 'endpoint',
  attempts: [],
  ending: 'answered',
  milliseconds: 0,
});

/** Takes a decision into the record. */
export function noteDecision(record: RequestRecord, decision: Decision): void {
  record.decision = decision.kind;
  if ('key' in decision && decision.key !== undefined)
    record.key = `${decision.key.kind} ${decision.key.value}`;
  if ('system' in decision) record.system = decision.system;
  if (decision.kind === 'answer' || decision.kind === 'drop') {
    record.because = decision.because;
    return;
  }
  record.relay = decision.relay;
  record.onPath = decision.onPath;
}

/** Takes what a relay ended with into the record. */
export function noteResult(record: RequestRecord, result: RelayResult): void {
  record.ending = result.kind;
  record.attempts = result.attempts;
  const last = result.attempts.at(-1)?.target;
  const target = result.kind === 'answered' ? (result.answer.target ?? last) : last;
  record.site = target?.site;
  record.node = target?.node ?? target?.uri;
  if (result.kind === 'answered') record.status = result.answer.status;
  if (result.kind === 'lost') {
    record.reason = result.reason;
    record.cause = result.cause;
  }
}
