import { answer } from './admit';
import type { AnswerDecision, AnswerHeader, LookupKey, RegistryAnswerView, Step } from './decision';
import type { Question } from './enquire';
import type { NodeName } from './plan';
import type { Snapshot } from './snapshot';
import type { NodeStates } from './states';

/** What the registry said of one key: an answer, `null` for none, or that it can't be asked now. */
export type KeyAnswer = RegistryAnswerView | null | 'unavailable';

/** Everything beyond request, configuration and registry that a decision depends on: passed in, never reached for. */
export interface World {
  readonly states: NodeStates;
  /** The number of this request's turn in a system whose affinity is `none`. */
  turnOf(system: string): number;
  /** The site where an account was served lately, for sites that drain. */
  seenAt(system: string, account: string): string | undefined;
  /** The node that sent the challenge which the request answers. */
  readonly challenger: NodeName | undefined;
  /** It is the first request that does: the retry itself, which goes there whatever the registry says meanwhile. */
  readonly isRetry?: boolean;
  /** Who gave the registry's answer, in words; absent: the registry. */
  readonly answeredBy?: string | undefined;
}

/** One decision in the making: what was asked, what was found, and what surrounds it. */
export interface Deciding {
  readonly question: Question;
  readonly snapshot: Snapshot;
  readonly world: World;
  readonly steps: Step[] | undefined;
  /** The key that was found, or, if none was, the first that was asked for. */
  readonly key: LookupKey | undefined;
  readonly known: RegistryAnswerView | undefined;
  /** A key could not be looked up, and no other was found. */
  readonly isDark: boolean;
}

/** Who gave the answer the decision is made from. */
export const answeredBy = ({ world }: Deciding): string => world.answeredBy ?? 'the registry';

/** Seconds after which a device may try again when nothing could take its request. */
export const RETRY_AFTER_S = 5;

/** An answer that names, for the log, the key and system it is about. */
export function refuse(
  deciding: Deciding,
  status: number,
  reason: string,
  because: string,
  more: { readonly headers?: readonly AnswerHeader[]; readonly system?: string } = {},
): AnswerDecision {
  const { key, steps } = deciding;
  return {
    ...answer(steps, status, reason, because, more.headers),
    ...(key === undefined ? {} : { key }),
    ...(more.system === undefined ? {} : { system: more.system }),
  };
}

/** 503 with Retry-After. */
export const unavailable = (deciding: Deciding, because: string, system?: string): AnswerDecision =>
  refuse(deciding, 503, 'Service Unavailable', because, {
    headers: [['Retry-After', String(RETRY_AFTER_S)]],
    ...(system === undefined ? {} : { system }),
  });
