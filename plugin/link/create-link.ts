import type { ConnectionOptions } from 'node:tls';
import { DsbcError } from '../errors';
import { monotonicClock, type MonotonicClock } from '../telemetry/clock';
import { silentLogger, type Logger } from '../telemetry/logger';
import { readFrame, type SipFrame } from './control-message';
import { DrachtioLink } from './drachtio-link';
import type { LibrarySide } from './library';
import { DEFAULT_LINK_TIMES, type LinkTimes } from './link-times';
import { OwnLibrary, SharedLibrary } from './library-side';
import type { DialogLink } from './sip-dialog';
import type { SipLink } from './sip-link';
import { SharedRoutes } from './shared-routes';
import { isSrf, newSrf, type Agent, type LibraryMiddleware, type Srf, type WireProtocol } from './srf';
import { extendStatusTable } from './status-table';

/**
 * The verbs a dispatcher needs: all that may open something. drachtio-server hands each but REFER to applications outside of
 * dialogs.
 */
export const DISPATCHED_METHODS = [
  'invite',
  'register',
  'subscribe',
  'publish',
  'message',
  'options',
  'notify',
  'info',
  'refer',
] as const;

/** How to reach one SIP server's control port. */
export interface LinkConfig {
  /** The name of the SIP server in the configuration. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly secret: string;
  /** What the secret is called where it was configured, for the log line that says it was refused. */
  readonly secretName?: string;
  /** Speak TLS with these options; a reconnection does so too. */
  readonly tls?: ConnectionOptions;
  /** Differences from `DEFAULT_LINK_TIMES`. */
  readonly times?: Partial<LinkTimes>;
  /** Loopback port for copies of the server's SIP messages (HEP version 3); default: none are heard. */
  readonly capturePort?: number;
  /** Verbs to ask the server for; default `DISPATCHED_METHODS`. */
  readonly methods?: readonly string[];
}

export interface LinkDependencies {
  readonly log?: Logger;
  readonly now?: MonotonicClock;
}

/**
 * Connects to a SIP server, and keeps connecting: after each loss within a second, without end. The link
 * is given back at once, in state `connecting`.
 */
export function createLink(config: LinkConfig, dependencies: LinkDependencies = {}): DialogLink {
  extendStatusTable();
  const log = (dependencies.log ?? silentLogger).child({ link: config.name });
  const srf = newSrf();
  // Without a listener the first refused connection would end the process.
  srf.on('error', (error: unknown) => {
    log.debug({ err: error }, 'control connection failed');
  });
  const agent = prepareAgent(srf);
  const library = new OwnLibrary(srf, agent);
  const { name, times, secretName } = config;
  const link = newLink(name, library, { ...times }, log, dependencies.now, secretName);
  onWire(agent, (wire) => {
    link.attach(wire);
  });
  if (config.capturePort !== undefined) link.capture(config.capturePort);
  for (const method of config.methods ?? DISPATCHED_METHODS) agent.route(method);
  srf.connect({
    host: config.host,
    port: config.port,
    secret: config.secret,
    ...(config.tls === undefined ? {} : { tls: config.tls }),
  });
  return link;
}

/** The link over somebody else's Srf instance. */
export interface SharedLink {
  readonly link: DialogLink;
  /** For those who route verbs on their own: `srf.register(shared.middleware)`. */
  readonly middleware: LibraryMiddleware;
  /** Whether the application has called `srf.connect`. */
  isConnecting(): boolean;
  /** If the middleware was given to `srf.use` without a verb: asks the server for the verbs, which `use` does not. */
  askForVerbs(methods?: readonly string[]): void;
  /** Asks for verbs and takes their requests, behind the routes that are there already. */
  subscribe(methods?: readonly string[]): void;
}

/**
 * Guards the connection of an existing drachtio-srf instance and takes requests through its middleware, so
 * that the application's own routes go on beside it, with their own UTF-8 strings. Best called before
 * `srf.connect()`: what the server can do is told once, when it accepts the secret. `link.close()` takes back what is
 * ours; the connection stays the application's. An application that
 * waits for connections of the server (`srf.listen()`) is not supported.
 * @throws DsbcError DSBC_CONFIG_INVALID when `srf` is no Srf instance.
 */
export function wrapSrf(
  srf: unknown,
  options: { readonly name?: string; readonly times?: Partial<LinkTimes> } & LinkDependencies = {},
): SharedLink {
  if (!isSrf(srf)) {
    throw new DsbcError('DSBC_CONFIG_INVALID', 'srf: expected an instance of drachtio-srf', {
      details: { path: 'srf', expected: 'an instance of drachtio-srf', found: typeof srf },
    });
  }
  extendStatusTable();
  const name = options.name ?? 'srf';
  const log = (options.log ?? silentLogger).child({ link: name });
  const now = options.now ?? monotonicClock;
  srf.on('error', (error: unknown) => {
    log.debug({ err: error }, 'control connection failed');
  });
  const connected = srf.app.client;
  const agent = connected ?? prepareAgent(srf);
  const library = new SharedLibrary(srf, agent, sipFrame, now);
  const link = newLink(name, library, options.times ?? {}, log, now);
  if (connected?.wp === undefined) link.trouble = 'srf.connect has not been called';
  if (connected?.wp !== undefined) {
    link.attach(connected.wp);
    link.takeOverConnections();
  } else {
    onWire(agent, (wire) => {
      link.attach(wire);
    });
  }
  const middleware: LibraryMiddleware = (req, res, next) => {
    if (link.state === 'closed') {
      routes.pass(res, next);
      return;
    }
    const known = library.frameOf(req);
    if (known === undefined) {
      next();
      return;
    }
    const request = link.requests.read(known.socket, known.frame);
    if (request === undefined) {
      res.finished = true;
      return;
    }
    request.library = { req, res };
    request.pass = (): void => {
      link.release(request);
      next();
    };
    link.deliver(request);
  };
  const routes = new SharedRoutes(srf, agent, middleware);
  link.share((send) => routes.takeBack(send));
  return {
    link,
    middleware,
    isConnecting: () => agent.wp !== undefined,
    askForVerbs: (methods = DISPATCHED_METHODS) => {
      routes.askForVerbs(methods);
    },
    subscribe: (methods = DISPATCHED_METHODS) => {
      routes.subscribe(methods);
    },
  };
}

/** Resolves when the link is up; rejects with DSBC_LINK_TIMEOUT after `timeoutMs`. */
export function untilConnected(link: SipLink, timeoutMs: number): Promise<void> {
  if (link.state === 'connected') return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(
        new DsbcError('DSBC_LINK_TIMEOUT', `no connection to the SIP server '${link.name}'`, {
          details: { link: link.name, timeoutMs },
        }),
      );
    }, timeoutMs);
    link.onState((state) => {
      if (state !== 'connected') return;
      clearTimeout(timer);
      resolve();
    });
  });
}

function newLink(
  name: string,
  library: LibrarySide,
  times: Partial<LinkTimes>,
  log: Logger,
  now: MonotonicClock = monotonicClock,
  secretName?: string,
): DrachtioLink {
  return new DrachtioLink(name, library, { ...DEFAULT_LINK_TIMES, ...times }, log, now, secretName);
}

/** Makes the library's agent now, so that it can be guarded before it connects. */
function prepareAgent(srf: Srf): Agent {
  const { app } = srf;
  const agent = app._init();
  app.client = agent;
  app._init = (): Agent => agent;
  return agent;
}

/** Calls back when the agent makes its wire, before that connects. */
function onWire(agent: Agent, attach: (wire: WireProtocol) => void): void {
  let wire: WireProtocol | undefined;
  Object.defineProperty(agent, 'wp', {
    configurable: true,
    enumerable: true,
    get: () => wire,
    set: (made: WireProtocol) => {
      wire = made;
      attach(made);
    },
  });
}

function sipFrame(raw: Buffer): SipFrame | undefined {
  const frame = readFrame(raw);
  return frame.kind === 'sip' ? frame : undefined;
}
