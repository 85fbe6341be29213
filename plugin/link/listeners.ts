import type { Logger } from '../telemetry/logger';

/** Listeners of one kind of news; what one of them throws is logged and keeps none of the others from it. */
export class Listeners<News> {
  private readonly listeners: ((news: News) => void)[] = [];

  constructor(private readonly log: Logger) {}

  add(listener: (news: News) => void): void {
    this.listeners.push(listener);
  }

  tell(news: News): void {
    for (const listener of this.listeners) {
      try {
        listener(news);
      } catch (error) {
        this.log.error({ err: error }, 'a link listener failed');
      }
    }
  }
}
