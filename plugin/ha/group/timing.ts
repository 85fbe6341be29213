import { DsbcError } from '../../errors';

/**
 * Every duration of the group in milliseconds. All follow from the heartbeat interval; the figures in brackets are
 * those of the default, 500.
 */
export interface Timing {
  /** Interval of the heartbeats (500). */
  readonly heartbeat: number;
  /** A peer unheard for this long is dead: two missed heartbeats plus grace (1100). */
  readonly dead: number;
  /**
   * No claim before no active was heard for this long: `dead`, and not before the kernel of a killed active has removed
   * the addresses (1150; that makes 2250 of a heartbeat of 1000 ms). Below a heartbeat of 500 ms it is `dead` all the
   * same (docs/ha.md, fast profile).
   */
  readonly claim: number;
  /** `valid_lft` of the addresses in whole seconds, because the kernel counts so (1). */
  readonly leaseS: number;
  /** The same in milliseconds (1000); the kernel takes up to `leaseSlack` longer. */
  readonly lease: number;
  /**
   * What the kernel may add to a lease: 150 to one of a second, which is paced (network/lease-pacer.ts; measured on Linux
   * 6.18: 0 to 50 on a machine with CPU to spare, 126 once on one without). 250 to a longer one: its check of lifetimes is put off to the next full second of its own clock when
   * that is less than a quarter of a second away.
   */
  readonly leaseSlack: number;
  /** A main thread or worker silent for longer loses the addresses (850). */
  readonly fence: number;
  /** How long an instance listens after a stall or a conflict before it counts again (700). */
  readonly recheck: number;
  /** How long a new instance listens (1500). */
  readonly listen: number;
  /** Between the claims of successive ranks (300). */
  readonly stagger: number;
  /** How long a better link count, or being fit again, must last (300). */
  readonly debounce: number;
  /** A timer later than this means a stall: read what waits before acting (100). */
  readonly late: number;
  /** How long the active waits for READY, and for the target to serve (200). */
  readonly answer: number;
  /** How long a READY may be used, by the clock of who sent it; shorter than `answer` (150). */
  readonly ready: number;
  /** Between the three RELINQUISH messages (20). */
  readonly repeat: number;
  /** Announcements after a takeover (0, 100, 500, 2000). */
  readonly announce: readonly number[];
  /** Regular announcement of the owner (10 s, not scaled). */
  readonly refresh: number;
  /** A peer unheard for this long is absent: a standby beats to it only every `probe` (15 s, 30 heartbeats). */
  readonly absent: number;
  /** Retry of an absent peer (15 s, not scaled). */
  readonly probe: number;
  /** No planned switch so soon after another (5 s, not scaled). */
  readonly settle: number;
  /** Window in which `switchLimit` planned switches are allowed (60 s, not scaled). */
  readonly switchWindow: number;
  readonly switchLimit: number;
  /** Lock of planned switches once there were more (5 min, not scaled). */
  readonly switchLock: number;
  /** How long the witness row protects its holder, counted from when the holder sent the request (3000). */
  readonly witness: number;
  /** How long a contender must have seen the row unchanged: 1.05 times that (3150). */
  readonly witnessTake: number;
  /** The kernel lease is renewed only with this much of the witness to spare (1150). */
  readonly witnessSpare: number;
  /** A witness request unanswered for this long is unknown (500; not less with a shorter heartbeat). */
  readonly witnessTimeout: number;
  /** With a witness, how long a READY may be used: the row itself protects the target (1500). */
  readonly witnessReady: number;
}

export const DEFAULT_HEARTBEAT_MS = 500;
export const MIN_HEARTBEAT_MS = 50;
export const MAX_HEARTBEAT_MS = 2000;
const PACED_SLACK_MS = 150;
const UNPACED_SLACK_MS = 250;

/**
 * Derives all durations from the heartbeat interval.
 * @param heartbeatMs 50 to 500, or 1000, 1500, 2000: above 500 it must fit the kernel's whole-second leases. Below 500
 *   the kernel lease stays 1 s, so a killed process keeps its addresses longer than the takeover takes; the
 *   announcement moves the traffic all the same (docs/ha.md, fast profile).
 * @throws DSBC_GROUP_INVALID
 */
export function timingFor(heartbeatMs: number = DEFAULT_HEARTBEAT_MS): Timing {
  const allowed =
    heartbeatMs >= MIN_HEARTBEAT_MS &&
    heartbeatMs <= MAX_HEARTBEAT_MS &&
    (heartbeatMs <= 500 || heartbeatMs % 500 === 0);
  if (!allowed) {
    throw new DsbcError(
      'DSBC_GROUP_INVALID',
      `heartbeat_ms must be ${MIN_HEARTBEAT_MS} to 500, or 1000, 1500 or 2000; it is ${heartbeatMs}`,
      {
        details: { path: 'ha.heartbeat_ms', found: heartbeatMs },
      },
    );
  }
  const scaled = (ms: number): number => Math.round((ms * heartbeatMs) / DEFAULT_HEARTBEAT_MS);
  const leaseS = Math.max(1, (2 * heartbeatMs) / 1000);
  const lease = leaseS * 1000;
  const leaseSlack = leaseS === 1 ? PACED_SLACK_MS : UNPACED_SLACK_MS;
  const dead = scaled(1100);
  // A witness must outlive the kernel lease, whose granularity is a second: it never shrinks below the default.
  const witness = Math.max(3000, scaled(3000));
  return {
    heartbeat: heartbeatMs,
    dead,
    claim: heartbeatMs < DEFAULT_HEARTBEAT_MS ? dead : Math.max(dead, lease + leaseSlack),
    leaseS,
    lease,
    leaseSlack,
    fence: scaled(850),
    recheck: scaled(700),
    listen: scaled(1500),
    stagger: scaled(300),
    debounce: scaled(300),
    late: Math.max(20, scaled(100)),
    answer: Math.max(60, scaled(200)),
    ready: Math.max(45, scaled(150)),
    repeat: Math.max(5, scaled(20)),
    announce: [0, scaled(100), scaled(500), scaled(2000)],
    refresh: 10_000,
    absent: heartbeatMs * 30,
    probe: 15_000,
    settle: 5_000,
    switchWindow: 60_000,
    switchLimit: 3,
    switchLock: 300_000,
    witness,
    witnessTake: witness * 1.05,
    witnessSpare: lease + leaseSlack,
    // Cassandra is not faster because the group is: scaled down, no answer would ever come in time.
    witnessTimeout: Math.max(500, scaled(500)),
    witnessReady: witness / 2,
  };
}
