/** Timer values of RFC 3261 §17 and table 4, in milliseconds. */
export const T1 = 500;
export const T2 = 4_000;
export const T4 = 5_000;
/** Timers B, F, H, J, L and M. */
export const TRANSACTION_MS = 64 * T1;
/** How often an INVITE server transaction without a final answer asks whether anybody is still going to give one. */
export const WATCH_MS = TRANSACTION_MS;
/** Timer D over UDP: more than 32 s. */
export const TIMER_D_MS = 32_500;
/** Timer C (§16.6 item 11): more than 3 minutes. */
export const TIMER_C_MS = 185_000;
