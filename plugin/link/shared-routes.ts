import type { Agent, LibraryApp, LibraryMiddleware, LibraryResponse, Srf } from './srf';

/** Seconds after which a caller may come again whose request nobody takes any more. */
const RETRY_AFTER_S = 5;

/** The place of our middleware among an application's own, and the verbs that the server is asked for on its account. */
export class SharedRoutes {
  /** Those we have asked for; the application may have asked for others. */
  private readonly asked = new Set<string>();
  private subscribed = false;
  /** What came to the middleware since our end. */
  private readonly passed = new WeakSet<LibraryResponse>();
  private last: LibraryApp['stack'][number] | undefined;

  constructor(
    private readonly srf: Srf,
    private readonly agent: Agent,
    private readonly middleware: LibraryMiddleware,
  ) {}

  /** If the middleware was given to `srf.use` without a verb: asks the server for the verbs, which `use` does not. */
  askForVerbs(methods: readonly string[]): void {
    const { stack } = this.srf.app;
    if (!stack.some(({ method, handle }) => method === '*' && handle === this.middleware)) return;
    for (const method of methods) if (this.noteVerb(method)) this.agent.route(method);
  }

  /** Asks for verbs and takes their requests, behind the routes that are there already. */
  subscribe(methods: readonly string[]): void {
    this.subscribed = true;
    for (const method of methods) {
      this.noteVerb(method);
      this.srf.use(method, this.middleware);
    }
  }

  /**
   * Takes back what is ours: the middleware where `subscribe` put it, and the verbs that no route of the application has
   * by now; the server answers those by itself then, as before (503).
   */
  async takeBack(send: (command: string) => Promise<void>): Promise<void> {
    const { app } = this.srf;
    if (this.subscribed) {
      const others = app.stack.filter(({ handle }) => handle !== this.middleware);
      app.stack.splice(0, app.stack.length, ...others);
    }
    const routed = new Set(app.stack.map(({ method }) => method.toLowerCase()));
    const unused = [...this.asked].filter((verb) => !routed.has(verb.toLowerCase()));
    this.asked.clear();
    for (const verb of unused) {
      this.agent.verbs.delete(verb);
      // So that a route the application adds later asks for it anew.
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete
      delete app.routedMethods[verb];
    }
    if (unused.length === 0) return;
    // drachtio-server 0.9.10 forgets all verbs of a connection with one (measured): those that stay are asked for again at once.
    const commands = [
      ...unused.map((verb) => `remove_route|${verb}`),
      ...[...this.agent.verbs.keys()].map((verb) => `route|${verb}`),
    ];
    await Promise.all(commands.map(send));
  }

  /**
   * A request that still comes to the middleware where the application put it: it goes on to the application's next handler;
   * where there is none it is 503, since the library's own 404 would tell a phone that its account is gone.
   */
  pass(res: LibraryResponse, next: () => void): void {
    this.passed.add(res);
    this.standLast();
    next();
  }

  /** Behind all that the application has put there by now: it may call our middleware from within another. */
  private standLast(): void {
    const { stack } = this.srf.app;
    if (stack.at(-1) === this.last) return;
    const refuse: LibraryMiddleware = (req, res, next) => {
      if (this.passed.has(res) && stack.at(-1) === last && req.method !== 'ACK')
        res.send(503, { headers: { 'Retry-After': String(RETRY_AFTER_S) } });
      else next();
    };
    const last = { method: '*', handle: refuse };
    this.last = last;
    stack.push(last);
  }

  /** True if nobody has asked for a verb before. */
  private noteVerb(method: string): boolean {
    const verbs = [...this.agent.verbs.keys(), ...Object.keys(this.srf.app.routedMethods)];
    const isNew = !verbs.some((verb) => verb.toLowerCase() === method.toLowerCase());
    if (isNew) this.asked.add(method);
    return isNew;
  }
}
