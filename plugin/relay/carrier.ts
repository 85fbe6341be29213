import { MAX_COMMAND_BYTES } from '../link/send-gate';
import type { DialogLink } from '../link/sip-dialog';
import type { FlowChoice, InboundRequest, ResponseSpec, SipLink } from '../link/sip-link';
import { B2buaRelay } from './b2bua';
import { CancelInjector } from './cancel-injector';
import { forward } from './forward';
import { InProgress } from './in-progress';
import { ProxyRelay } from './proxy';
import { Refuser } from './refuser';
import type {
  Distrusted,
  FailoverLimits,
  HeaderPolicy,
  RelayDependencies,
  RelayedAnswer,
  RelayResult,
  RelayTarget,
} from './relay';
import { detour, type RelayKind } from './server-traps';

/** Everything needed to carry one request, whatever the relay. */
export interface CarryOrder extends FlowChoice {
  readonly relay: RelayKind;
  /** The Request-URI that goes out, the same for every target. */
  readonly requestUri: string;
  /** In the order they are tried. */
  readonly targets: readonly RelayTarget[];
  readonly limits: FailoverLimits;
  readonly headers: HeaderPolicy;
  readonly distrusted?: Distrusted;
  readonly onPath: boolean;
  /** User part of our Record-Route, where the server can carry one. */
  readonly recordRouteUser?: string;
  /** The server the request leaves from; default: the one it came by. */
  readonly link?: SipLink;
  /** Whether SIP may be sent now: the addresses of the group are here. Default: always. */
  readonly maySend?: () => boolean;
  /** Called at once with every final answer that a target gives. */
  readonly onAnswer?: (answer: RelayedAnswer) => void;
  /** Called with the answer just before the caller gets it, where it is ours to send. */
  readonly beforeAnswer?: (
    answer: RelayedAnswer,
    response: ResponseSpec,
  ) => ResponseSpec | Promise<ResponseSpec>;
}

/** The ways to carry a request, past the traps of the SIP server. One per process. */
export class Carrier {
  private readonly inProgress = new InProgress();

  private constructor(
    private readonly dependencies: RelayDependencies,
    private readonly cancels: CancelInjector,
    private readonly proxy: ProxyRelay,
    private readonly refuser: Refuser,
    private readonly b2bua: B2buaRelay,
  ) {}

  /** Rejects with the system's error when the refuser's loopback socket can't be had. */
  static async open(dependencies: RelayDependencies): Promise<Carrier> {
    const cancels = new CancelInjector(dependencies.log, dependencies.now);
    const refuser = await Refuser.open(dependencies.log);
    const proxy = new ProxyRelay({
      ...dependencies,
      cancels,
      answer: (request, response) => refuser.answer(request, response),
    });
    return new Carrier(dependencies, cancels, proxy, refuser, new B2buaRelay(dependencies));
  }

  /** Requests and guarded calls under way. */
  get size(): number {
    return this.inProgress.size + this.proxy.size;
  }

  /** Calls and subscriptions that go through us as two dialogs. */
  get bridges(): number {
    return this.b2bua.size;
  }

  /**
   * True if the request is a guarded call on its way back: it is being dealt with. To be asked before anything else
   * looks at a request: admission, hooks and loop detection have seen the call already.
   */
  takesBack(request: InboundRequest): boolean {
    const resumed = this.proxy.resume(request);
    if (resumed === undefined) return false;
    resumed.catch((error: unknown) => {
      this.dependencies.log.error({ err: error, callId: request.message.callId }, 'a guarded call failed');
    });
    return true;
  }

  /** While hurried, proxied requests are handed to the SIP server at once, those that are being held back too. */
  hurry(hurried: boolean): void {
    this.proxy.hurry(hurried);
  }

  /** Carries a request to its end. Never rejects for what the network does. */
  async carry(request: InboundRequest, order: CarryOrder): Promise<RelayResult> {
    const { message } = request;
    const { capabilities } = order.link ?? request.link;
    const other = detour(order.relay, message, order.requestUri, capabilities);
    if (other) {
      this.dependencies.log.info(
        { callId: message.callId, chosen: order.relay, way: other.way, because: other.because },
        'another way than the one chosen',
      );
    }
    switch (other?.way ?? order.relay) {
      case 'forward':
        return forward(request, { ...order, inProgress: this.inProgress }, this.dependencies);
      case 'b2bua':
        return this.bridged(request, order);
      case 'proxy':
        return this.proxy.relay(request, { ...order, failover: order.limits.maxAttempts > 1 });
      case 'refuser':
      case 'refuse': {
        const isLarge = message.raw.length > MAX_COMMAND_BYTES / 2;
        const response: ResponseSpec = isLarge
          ? { status: 513 }
          : { status: 400, reason: 'Cannot Be Carried' };
        await this.answer(request, response);
        return { kind: 'answered', answer: { status: response.status }, attempts: [] };
      }
    }
  }

  private bridged(request: InboundRequest, order: CarryOrder): Promise<RelayResult> {
    const far = order.link ?? request.link;
    if (!isDialogLink(request.link) || !isDialogLink(far)) {
      return this.proxy.relay(request, { ...order, onPath: true, failover: order.limits.maxAttempts > 1 });
    }
    return this.b2bua.relay(request, request.link, { ...order, link: far });
  }

  /**
   * Answers by ourselves, by way of the refuser where an answer of the application's would end the server.
   * @throws DsbcError as `SipLink.respond` does.
   */
  answer(request: InboundRequest, response: ResponseSpec): Promise<void> {
    return this.refuser.answer(request, response);
  }

  /** Hangs up what goes through us, ends timers and sockets; what is under way ends with its link. */
  async close(): Promise<void> {
    this.b2bua.close('SIP;cause=503;text="Service is stopped"');
    this.cancels.close();
    await this.refuser.close();
  }
}

const isDialogLink = (link: SipLink): link is DialogLink => 'openDialog' in link;
