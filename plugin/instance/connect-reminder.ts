const EVERY_MS = 1000;
const SAY_EVERY = 30;

/**
 * For an application that has started the DSBC and never told its `srf` where to connect to: nothing would keep the process, and
 * nothing would be heard of it. Says so every half minute, and keeps the process, until it is connecting.
 * @returns ends it
 */
export function remindToConnect(isConnecting: () => boolean, say: () => void): () => void {
  let rounds = 0;
  const timer = setInterval(() => {
    rounds += 1;
    if (isConnecting()) clearInterval(timer);
    else if (rounds % SAY_EVERY === 0) say();
  }, EVERY_MS);
  return () => clearInterval(timer);
}
