import type { Logger } from '../telemetry/logger';

/** Listeners of one kind of news; what one of them throws is logged and keeps none of the others from it. */
export class Listeners<News> {
  private readonly listeners: ((news: News) => void)[] = [];

  constructor(private readonly log: Logger) {}

  add(listener: (news: News) => void): void {
    this.listeners.push(listener);
  }

  tell(news: News): void {
    for (const listener of this.listeners) protect(this.log, () => listener(news));
  }
}

/** Calls a listener; what it throws is logged. */
export function protect(log: Logger, call: () => void): void {
  try {
    call();
  } catch (error) {
    log.error({ err: error }, 'a link listener failed');
  }
}
