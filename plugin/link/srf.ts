import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import DrachtioSrf from 'drachtio-srf';

/*
 * drachtio-srf's own types leave most of what the link needs untyped or `any`. This file says once what
 * version 5.0.29 really has. The version is pinned exactly; the tests of test/link run the library itself against a
 * scripted server, and fail where one of these things is gone.
 */

/** lib/wire-protocol.js: the framing and the connection. */
export interface WireProtocol extends EventEmitter {
  host?: string;
  port?: number;
  closing?: boolean;
  mapIncomingMsg: Map<Socket, { incomingMsg: Buffer }>;
  connect(options: ConnectOptions): void;
  installListeners(socket: Socket): void;
  disconnect(socket: Socket): void;
  send(socket: Socket, message: string): string;
  _onData(socket: Socket, chunk: Buffer): void;
  _onConnectionGone(): void;
  readonly isServer: unknown;
}

/** What lib/drachtio-agent.js keeps per connection. */
export interface ServerRecord {
  pendingRequests: Map<string, unknown>;
  pendingNetworkInvites: Map<string, { req: LibraryRequest; res: LibraryResponse }>;
  pendingAckOrPrack: Map<string, unknown>;
  authenticated: boolean;
  hostport: string | null;
  localHostports?: string | null;
}

/** lib/drachtio-agent.js: commands and their answers. */
export interface Agent extends EventEmitter {
  /** Made by `connect`. */
  wp: WireProtocol | undefined;
  verbs: Map<string, unknown>;
  mapServer: Map<Socket, ServerRecord>;
  puntUpTheMiddleware: (req: LibraryRequest, res: LibraryResponse) => void;
  route(verb: string): void;
  _onMsg(socket: Socket, text: string): void;
}

/** The middleware app inside an Srf. */
export interface LibraryApp extends EventEmitter {
  client?: Agent;
  _init(): Agent;
  connect(...args: unknown[]): unknown;
  use(method: string, handler: LibraryMiddleware): unknown;
  /** What was given to `use` and to the methods named after verbs; `*` stands for all of them. */
  readonly stack: { readonly method: string; readonly handle: unknown }[];
  /** Verbs that routes were given for, as they were given. */
  readonly routedMethods: Record<string, true>;
}

export interface LibraryRequest extends EventEmitter {
  readonly method: string;
  readonly raw: string;
  readonly stackTxnId: string;
  readonly stackDialogId?: string;
  readonly source_address: string;
  readonly source_port: number;
  readonly protocol: string;
  readonly receivedOn?: string;
  socket: Socket;
  agent: Agent;
  res: LibraryResponse;
  get(header: string): string | undefined;
  srf?: unknown;
}

export interface LibraryResponse extends EventEmitter {
  finished: boolean;
  status?: number;
  socket: Socket;
  agent: Agent;
  req: LibraryRequest;
  srf?: unknown;
  send(status: number, options?: object): void;
}

export type LibraryMiddleware = (req: LibraryRequest, res: LibraryResponse, next: () => void) => void;

export interface ConnectOptions {
  readonly host: string;
  readonly port: number;
  readonly secret: string;
  readonly tls?: ConnectionOptions;
}

/** The parts of an Srf instance the link touches. */
export interface Srf extends EventEmitter {
  readonly app: LibraryApp;
  readonly _dialogs: Map<string, unknown>;
  connect(options: ConnectOptions): void;
  use(...args: unknown[]): unknown;
}

/** drachtio-srf's classes that a promoted request is made of (lib/request.js, lib/response.js, lib/sip-parser). */
interface LibraryClasses {
  readonly Request: new (message: object, meta: object) => LibraryRequest;
  readonly Response: new (agent?: Agent) => LibraryResponse;
  readonly SipMessage: new (raw: string) => object;
}

const libraryRequire = createRequire(require.resolve('drachtio-srf'));

export const libraryClasses: LibraryClasses = {
  Request: libraryRequire('./request') as LibraryClasses['Request'],
  Response: libraryRequire('./response') as LibraryClasses['Response'],
  SipMessage: libraryRequire('./sip-parser/message') as LibraryClasses['SipMessage'],
};

/** The status table that `res.send` of the library looks a code up in; a code it lacks makes it throw. */
export const libraryStatusTable = libraryRequire('sip-status') as Record<number, string>;

/** A new Srf instance with the types above. */
export function newSrf(): Srf {
  return new DrachtioSrf() as unknown as Srf;
}

/** Whether a value is an Srf instance of this drachtio-srf or of another copy of it. */
export function isSrf(value: unknown): value is Srf {
  if (value instanceof DrachtioSrf) return true;
  const app: unknown = (value as { app?: unknown } | null | undefined)?.app;
  return typeof app === 'function' && '_init' in app && 'handle' in app;
}
