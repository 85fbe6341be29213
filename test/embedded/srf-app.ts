import type { EventEmitter } from 'node:events';
import Srf from 'drachtio-srf';

/** The parts of drachtio-srf that the tests use; its own types are too weak for them. */
export interface AppMessage {
  readonly status: number;
  readonly reason: string;
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly msg: { readonly raw: string };
  get(name: string): string;
  has(name: string): boolean;
}

export interface AppRequest extends AppMessage, EventEmitter {
  readonly method: string;
  readonly uri: string;
  readonly source: string;
  readonly source_address: string;
  readonly source_port: number;
  readonly protocol: string;
  readonly receivedOn: string;
  readonly stackTxnId: string;
  readonly stackDialogId: string;
  cancel(): void;
}

export interface MessageOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface AppResponse {
  send(status: number, options?: MessageOptions, callback?: (error: unknown, sent: AppMessage) => void): void;
  send(
    status: number,
    reason: string,
    options?: MessageOptions,
    callback?: (error: unknown, sent: AppMessage) => void,
    prack?: (req: AppRequest) => void,
  ): void;
}

export interface ProxyResult {
  readonly connected: boolean;
  readonly finalStatus?: number;
  readonly responses: {
    readonly address: string;
    readonly port: number;
    readonly msgs: { readonly status: number; readonly msg: AppMessage }[];
  }[];
}

export interface AppDialog extends EventEmitter {
  readonly id: string;
  readonly sip: { readonly callId: string; readonly localTag: string; readonly remoteTag: string };
  readonly local: { readonly uri: string; readonly sdp: string };
  readonly remote: { readonly uri: string; readonly sdp: string };
  request(options: MessageOptions & { method: string }): Promise<AppMessage>;
  modify(sdp: string): Promise<string>;
  destroy(options?: MessageOptions): Promise<AppRequest>;
}

type Handler = (req: AppRequest, res: AppResponse) => void;
type Sent = (error: Error | null, req: AppRequest) => void;

export interface SrfApp extends EventEmitter {
  invite(handler: Handler): void;
  register(handler: Handler): void;
  options(handler: Handler): void;
  message(handler: Handler): void;
  subscribe(handler: Handler): void;
  notify(handler: Handler): void;
  use(handler: Handler): void;
  use(method: string, handler: Handler): void;
  request(uri: string, options: MessageOptions & { method: string; proxy?: string }, callback: Sent): void;
  proxyRequest(req: AppRequest, targets: string[], options?: object): Promise<ProxyResult>;
  createUAS(
    req: AppRequest,
    res: AppResponse,
    options: { localSdp?: string; headers?: Record<string, string> },
  ): Promise<AppDialog>;
  createUAC(
    uri: string,
    options: object,
    progress?: { cbRequest?: Sent; cbProvisional?: (res: AppMessage) => void },
  ): Promise<AppDialog>;
  disconnect(): void;
}

/** An unmodified drachtio-srf application on an embedded server. */
export async function connectSrf(controlPort: number, secret: string): Promise<SrfApp> {
  const srf = new Srf() as unknown as SrfApp & { connect(options: object): void };
  await new Promise<void>((resolve, reject) => {
    srf.on('connect', (error: Error | null) => {
      if (error) reject(error);
      else resolve();
    });
    srf.on('error', () => undefined);
    srf.connect({ host: '127.0.0.1', port: controlPort, secret });
  });
  return srf;
}
