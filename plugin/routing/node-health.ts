/** How health is judged; the configuration's `health` fits. Milliseconds and seconds as their names say. */
export interface HealthSettings {
  readonly interval_ms: number;
  readonly timeout_ms: number;
  /** Percent by which each interval may be longer or shorter. */
  readonly jitter_percent: number;
  readonly rise: number;
  readonly fall: number;
  /** Answers to a probe that count as a miss. */
  readonly down_codes: readonly number[];
  readonly ejection: {
    readonly consecutive: number;
    readonly base_s: number;
    readonly max_s: number;
    readonly max_percent: number;
  };
}

/** What a probe, or an attempt of real traffic, showed. */
export type Sighting =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly milliseconds: number;
      readonly retryAfterS?: number | undefined;
    }
  | { readonly kind: 'silence' }
  | { readonly kind: 'transport_error'; readonly reason?: string | undefined };

/** The health of one node as one SIP server sees it. */
export interface NodeHealth {
  readonly state: 'up' | 'down' | 'ejected';
  /** Why it is in that state, for people. */
  readonly reason: string;
  /** When it came into that state, on the monotonic clock. */
  readonly since: number;
  /** Probes in a row that say otherwise than the state. */
  readonly against: number;
  /** Real attempts in a row that failed. */
  readonly failures: number;
  readonly ejectedUntil: number;
  /** How often it was ejected lately; each time makes the next one longer. */
  readonly ejections: number;
  readonly lastStatus: number | undefined;
  readonly lastMilliseconds: number | undefined;
}

export const newNodeHealth = (now: number): NodeHealth => ({
  state: 'up',
  reason: 'not probed yet',
  since: now,
  against: 0,
  failures: 0,
  ejectedUntil: 0,
  ejections: 0,
  lastStatus: undefined,
  lastMilliseconds: undefined,
});

const words = (sighting: Sighting): string => {
  if (sighting.kind === 'answer') return `answered ${sighting.status}`;
  return sighting.kind === 'silence'
    ? 'did not answer'
    : `could not be reached${sighting.reason === undefined ? '' : `: ${sighting.reason}`}`;
};

const seen = (sighting: Sighting): Pick<NodeHealth, 'lastStatus' | 'lastMilliseconds'> =>
  sighting.kind === 'answer'
    ? { lastStatus: sighting.status, lastMilliseconds: sighting.milliseconds }
    : { lastStatus: undefined, lastMilliseconds: undefined };

/**
 * After a probe. `fall` misses in a row take a node down, `rise` answers in a row bring it up; an ejected node comes
 * back only when its time is over. A node never probed before goes down at its first `fall` misses like any other.
 */
export function afterProbe(
  health: NodeHealth,
  sighting: Sighting,
  settings: HealthSettings,
  now: number,
): NodeHealth {
  const isAlive = sighting.kind === 'answer' && !settings.down_codes.includes(sighting.status);
  const next: NodeHealth = { ...settled(health, now), ...seen(sighting) };
  const contradicts = isAlive === (next.state === 'down');
  if (!contradicts)
    return { ...next, against: 0, ...(next.state === 'up' ? { reason: words(sighting) } : {}) };
  const against = next.against + 1;
  const needed = isAlive ? settings.rise : settings.fall;
  if (against < needed) return { ...next, against };
  const why = `${words(sighting)}, ${against} time${against === 1 ? '' : 's'} in a row`;
  return {
    ...next,
    state: isAlive ? 'up' : 'down',
    reason: why,
    since: now,
    against: 0,
    failures: isAlive ? next.failures : 0,
  };
}

/**
 * After an attempt of real traffic. One that could not be sent takes a node down at once, until a probe succeeds. `consecutive` failures in a row eject the node, as does a 503 that says how long
 * (Retry-After), if `mayEject`; what is down already stays so until a probe succeeds.
 * @param mayEject false: as many nodes as allowed are ejected already
 */
export function afterAttempt(
  health: NodeHealth,
  sighting: Sighting,
  settings: HealthSettings,
  now: number,
  mayEject: boolean,
): NodeHealth {
  const { ejection } = settings;
  const current = settled(health, now);
  const isFailure = sighting.kind !== 'answer' || sighting.status === 503;
  if (!isFailure) {
    const isQuiet = now - current.ejectedUntil > ejection.base_s * 1000 * (current.ejections + 1);
    return { ...current, ...seen(sighting), failures: 0, ejections: isQuiet ? 0 : current.ejections };
  }
  const failures = current.failures + 1;
  const next: NodeHealth = { ...current, ...seen(sighting), failures };
  const asked = sighting.kind === 'answer' ? sighting.retryAfterS : undefined;
  const isDue = asked !== undefined || failures >= ejection.consecutive;
  if (!isDue || !mayEject || current.state !== 'up') {
    if (sighting.kind !== 'transport_error' || current.state === 'down') return next;
    // One probe that succeeds says otherwise: it may have been a single connection.
    return { ...next, state: 'down', reason: words(sighting), since: now, against: settings.rise - 1 };
  }
  const ejections = current.ejections + 1;
  const seconds = Math.min(ejection.max_s, asked ?? ejection.base_s * ejections);
  return {
    ...next,
    state: 'ejected',
    reason: `${words(sighting)}${asked === undefined ? `, ${failures} times in a row` : ` and asked for ${asked} s`}`,
    since: now,
    against: 0,
    failures: 0,
    ejections,
    ejectedUntil: now + seconds * 1000,
  };
}

/** Ends an ejection whose time is over. */
export const settled = (health: NodeHealth, now: number): NodeHealth =>
  health.state === 'ejected' && now >= health.ejectedUntil
    ? { ...health, state: 'up', reason: 'its ejection is over', since: health.ejectedUntil, against: 0 }
    : health;
