import type { HeaderLine, TransportAddress } from '../link/sip-link';
import type { SipMessage } from '../message/sip-message';
import type { Decision, Destination, LookupKey, RegistryAnswerView, Role } from '../routing/decision';

/** The moments of a request at which an application may join in, in this order. There are no others. */
export const HOOKS = [
  'onRequest',
  'beforeLookup',
  'beforeRoute',
  'beforeRelay',
  'onResponse',
  'onError',
] as const;
export type HookName = (typeof HOOKS)[number];

/** What every hook is given: the request as it came, and who sent it. Frozen copies: writing to them throws in strict mode. */
export interface HookContext {
  /** Names this request in every log line. */
  readonly id: string;
  readonly message: SipMessage;
  readonly source: TransportAddress;
  readonly role: Role;
  /** The peer's or site's name; absent for endpoints. */
  readonly sourceName: string | undefined;
  /** The SIP server it came in by. */
  readonly server: string;
  /** Shared by the hooks of one request, for whatever they want to tell each other. */
  readonly notes: Map<string, unknown>;
  /** Aborted when the hook's time is up. */
  readonly signal: AbortSignal;
}

export interface BeforeLookupContext extends HookContext {
  /** The keys the registry will be asked for, the first known one deciding. */
  readonly keys: readonly LookupKey[];
}

export interface BeforeRouteContext extends HookContext {
  /** The key that was found; the first that was asked for, if none was. */
  readonly key: LookupKey | undefined;
  readonly answer: RegistryAnswerView | undefined;
}

export interface BeforeRelayContext extends HookContext {
  readonly decision: Exclude<Decision, { kind: 'answer' | 'drop' }>;
}

export interface OnResponseContext extends HookContext {
  readonly decision: Decision | undefined;
  readonly status: number;
  /** The site's answer; absent when the answer is our own. */
  readonly answer: SipMessage | undefined;
  /** The site that answered. */
  readonly site: string | undefined;
}

export interface OnErrorContext extends HookContext {
  readonly error: unknown;
}

/** Ends the request here, with this answer. */
export interface HookAnswer {
  readonly respond: {
    readonly status: number;
    readonly reason?: string;
    readonly headers?: readonly HeaderLine[];
  };
}

/** Nodes by name; a destination of `decision.plan` is one. */
export type HookPlan = readonly Pick<Destination, 'system' | 'site' | 'node'>[];

/** What each hook is called with, and what it may return beside nothing. */
export interface HookTypes {
  readonly onRequest: { readonly context: HookContext; readonly result: HookAnswer };
  /** `keys`: to ask for these instead. */
  readonly beforeLookup: {
    readonly context: BeforeLookupContext;
    readonly result: HookAnswer | { readonly keys: readonly LookupKey[] };
  };
  /** `answer`: to go by this instead of what the registry said; `null`: as if it knew nothing. */
  readonly beforeRoute: {
    readonly context: BeforeRouteContext;
    readonly result: HookAnswer | { readonly answer: RegistryAnswerView | null };
  };
  /**
   * `plan`: to try these instead, in this order, each a node of the configuration (where the decision has a plan: a
   * request to a flow or out of the systems has none); `add`, `remove`: headers of what goes out, none of them protected.
   */
  readonly beforeRelay: {
    readonly context: BeforeRelayContext;
    readonly result:
      | HookAnswer
      | {
          readonly plan?: HookPlan;
          readonly add?: readonly HeaderLine[];
          readonly remove?: readonly string[];
        };
  };
  /** `add`: headers for the answer; only where the answer is ours to send (forwarded requests, our own answers). */
  readonly onResponse: {
    readonly context: OnResponseContext;
    readonly result: { readonly add: readonly HeaderLine[] };
  };
  readonly onError: { readonly context: OnErrorContext; readonly result: never };
}

export type HookContextOf<Name extends HookName> = HookTypes[Name]['context'];
export type HookResultOf<Name extends HookName> = HookTypes[Name]['result'];

/** `void`: a function that just ends is a hook, whether it is async or not. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type
type OrNothing<Result> = Result | undefined | void;

/** A hook: may be async; returns nothing to let the request go on as it is. */
export type Hook<Name extends HookName> = (
  context: HookContextOf<Name>,
) => OrNothing<HookResultOf<Name>> | Promise<OrNothing<HookResultOf<Name>>>;

/** What becomes of the request when a hook throws, rejects or is late: it goes on without the hook, or ends with 500. */
export const HOOK_POLICIES = ['skip', 'fail'] as const;
export type HookPolicy = (typeof HOOK_POLICIES)[number];

export interface HookOptions {
  /** Default: `hooks.on_error` of the configuration. */
  readonly onError?: HookPolicy;
  /** Whole milliseconds, 1 to 10000. Default: `hooks.timeout_ms`. */
  readonly timeoutMs?: number;
  /** For the log; default: the function's name, or `onRequest#2` for the second `onRequest` hook if it has none. */
  readonly name?: string;
}

/** Hooks by name, as `createDsbc` takes them. */
export type HookSet = { readonly [Name in HookName]?: Hook<Name> | readonly Hook<Name>[] };
