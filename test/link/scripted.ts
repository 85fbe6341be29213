import { createLink, untilConnected, type LinkConfig } from '../../plugin/link/create-link';
import type { InboundRequest, LinkState, SipLink } from '../../plugin/link/sip-link';
import { ControlServer } from '../fixtures/control-server';

/** Short times, so that deadlines and reconnections fit into a test. */
export const FAST = {
  requestTimeoutMs: 400,
  pingIntervalMs: 60,
  pingTimeoutMs: 120,
  connectTimeoutMs: 400,
  minReconnectDelayMs: 10,
  maxReconnectDelayMs: 50,
};

export const IDLE = { commands: 0, clientTransactions: 0, inboundRequests: 0 };

/** A link to a scripted control server. */
export class Scripted {
  link!: SipLink;

  constructor(public server: ControlServer) {}

  static async start(): Promise<Scripted> {
    return new Scripted(await ControlServer.listen());
  }

  connect(config: Partial<LinkConfig> = {}): SipLink {
    const { port } = this.server;
    this.link = createLink({ name: 'main', host: '127.0.0.1', port, secret: 's', times: FAST, ...config });
    return this.link;
  }

  async open(config: Partial<LinkConfig> = {}): Promise<SipLink> {
    await untilConnected(this.connect(config), 2000);
    return this.link;
  }

  /** The next request the link hands over. */
  inbound(): Promise<InboundRequest> {
    return new Promise((resolve) => {
      this.link.onRequest((request) => resolve(request));
    });
  }

  untilState(state: LinkState): Promise<void> {
    return new Promise((resolve) => {
      this.link.onState((now) => {
        if (now === state) resolve();
      });
    });
  }

  /** What is under way, a ping that is just being answered left out. */
  async load(): Promise<SipLink['load']> {
    for (let i = 0; i < 20 && this.link.load.commands > 0; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return this.link.load;
  }

  async stop(): Promise<void> {
    await this.link.close();
    await this.server.close();
  }
}
