/** Times of a link, milliseconds. */
export interface LinkTimes {
  /** Until a command that the server answers at once must be answered. */
  readonly requestTimeoutMs: number;
  readonly pingIntervalMs: number;
  /** Until a ping must be answered; else the link counts as lost. */
  readonly pingTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly minReconnectDelayMs: number;
  readonly maxReconnectDelayMs: number;
}

export const DEFAULT_LINK_TIMES: LinkTimes = Object.freeze({
  requestTimeoutMs: 5000,
  pingIntervalMs: 5000,
  pingTimeoutMs: 2000,
  connectTimeoutMs: 5000,
  minReconnectDelayMs: 50,
  maxReconnectDelayMs: 1000,
});
