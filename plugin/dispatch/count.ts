import type { AttemptRecord } from '../relay/relay';
import type { Metrics } from '../telemetry/metrics';
import { lossOf } from './loss';
import type { RequestRecord } from './request-record';

const REFUSED = new Set(['standby', 'draining', 'too_many', 'too_many_of_source', 'too_fast', 'blocked']);
/** Methods get a label each; whatever else the internet makes up shares one. */
const METHODS = new Set([
  'INVITE',
  'REGISTER',
  'SUBSCRIBE',
  'PUBLISH',
  'MESSAGE',
  'OPTIONS',
  'NOTIFY',
  'INFO',
  'REFER',
]);

const OUTCOMES = {
  answer: 'answered',
  silence: 'timeout',
  transport_error: 'transport_error',
  aborted: 'cancelled',
  link_lost: 'transport_error',
} as const;
/** How an attempt ended, as `dsbc_attempts_total` says it. */
export const ATTEMPT_OUTCOMES = [...Object.values(OUTCOMES), 'unavailable'] as const;

/** Counts one request that has ended. */
export function countRequest(metrics: Metrics, record: Readonly<RequestRecord>): void {
  const method = METHODS.has(record.method) ? record.method : 'other';
  metrics.add('dsbc_requests_total', { method, role: record.role, status: String(record.status ?? 0) });
  if (record.reason !== undefined && REFUSED.has(record.reason)) {
    metrics.add('dsbc_requests_refused_total', { reason: record.reason });
    return;
  }
  metrics.observe(
    'dsbc_request_seconds',
    { method, relay: record.relay ?? 'none' },
    record.milliseconds / 1000,
  );
  const loss = lossOf(record);
  if (loss !== undefined) {
    metrics.add(loss.effect === 'lost' ? 'dsbc_requests_lost_total' : 'dsbc_requests_delayed_total', {
      method,
      relay: record.relay ?? 'none',
      reason: loss.reason,
    });
  }
  const first = record.attempts[0]?.target;
  if (first?.system !== undefined && first.site !== undefined) {
    metrics.add('dsbc_dispatched_total', { system: first.system, site: first.site, method });
    if (record.attempts.length > 1) metrics.add('dsbc_failovers_total', { system: first.system, method });
  }
  if (record.oversize !== undefined)
    metrics.add('dsbc_mtu_exceeded_total', {
      method,
      sent_over: record.oversize.sentOver,
    });
}

/** Counts one attempt that has ended. */
export function countAttempt(metrics: Metrics, { target, outcome, status }: AttemptRecord): void {
  if (target.system === undefined || target.site === undefined) return;
  const { system, site } = target;
  metrics.add('dsbc_attempts_total', {
    system,
    site,
    outcome: status === 503 ? 'unavailable' : OUTCOMES[outcome],
  });
}
