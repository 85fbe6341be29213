import type { Standing } from '../admission/admission';
import type { CarriedDecision, OrderFacts } from '../dispatch/order';
import { newRecord, type RequestRecord } from '../dispatch/request-record';
import type { HookContext } from '../hooks';
import type { InboundRequest, ResponseSpec } from '../link/sip-link';
import type { Decision } from '../routing/decision';
import { sourceOf, type Source } from '../routing/snapshot';
import type { Settings } from './settings';

/** One request on its way. */
export interface Call {
  readonly request: InboundRequest;
  readonly record: RequestRecord;
  readonly settings: Settings;
  readonly source: Source;
  readonly context: Omit<HookContext, 'signal'>;
  standing: Standing;
  /** It was answered while something of ours (the registry, a hook) held it; what comes of that is for nobody. */
  refused: boolean;
}

/** Ends a request's way early, with an answer. */
export class Answered {
  constructor(
    readonly response: ResponseSpec,
    readonly decision?: Decision,
    /** Why, where no decision says it. */
    readonly because?: string,
  ) {}
}

/** What is to happen with a request. */
export type Way = Answered | 'drop' | { readonly decision: CarriedDecision; readonly facts: OrderFacts };

export function newCall(id: string, request: InboundRequest, settings: Settings): Call {
  const record = newRecord(id, request);
  const source = sourceOf(settings.snapshot, request.source.address);
  record.role = source.role;
  record.sourceName =
    source.role === 'site'
      ? `${source.system}/${source.site}`
      : source.role === 'peer'
        ? source.peer.name
        : undefined;
  const { role, sourceName } = record;
  const context = {
    id,
    message: request.message,
    source: request.source,
    role,
    sourceName,
    server: request.link.name,
    notes: new Map<string, unknown>(),
  };
  return { request, record, settings, source, context, standing: 'ours', refused: false };
}
