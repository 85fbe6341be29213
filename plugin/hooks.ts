import type { HeaderLine, TransportAddress } from './link/sip-link';
import { DsbcError } from './errors';
import type { SipMessage } from './message/sip-message';
import type { Decision, LookupKey, Plan, RegistryAnswerView, Role } from './routing/decision';
import type { Logger } from './telemetry/logger';

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

/** What every hook is given: the request as it came, and who sent it. Values; changing them changes nothing. */
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
  /** `plan`: to try these instead, each a node of the configuration; `add`, `remove`: headers of what goes out. */
  readonly beforeRelay: {
    readonly context: BeforeRelayContext;
    readonly result:
      | HookAnswer
      | { readonly plan?: Plan; readonly add?: readonly HeaderLine[]; readonly remove?: readonly string[] };
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

/** A hook: may be async; returns nothing to let the request go on as it is. */
export type Hook<Name extends HookName> = (
  context: HookContextOf<Name>,
) => HookResultOf<Name> | undefined | Promise<HookResultOf<Name> | undefined>;

/** What becomes of the request when a hook throws, rejects or is late: it goes on without the hook, or ends with 500. */
export const HOOK_POLICIES = ['skip', 'fail'] as const;
export type HookPolicy = (typeof HOOK_POLICIES)[number];

export interface HookOptions {
  /** Default: `hooks.on_error` of the configuration. */
  readonly onError?: HookPolicy;
  /** Milliseconds. Default: `hooks.timeout_ms`. */
  readonly timeoutMs?: number;
  /** For the log; default: the function's name. */
  readonly name?: string;
}

/** Hooks by name, as `createDsbc` takes them. */
export type HookSet = { readonly [Name in HookName]?: Hook<Name> | readonly Hook<Name>[] };

interface Registered {
  readonly run: (context: HookContext) => unknown;
  readonly options: HookOptions;
}

/** How a hook failed; counted, and told in the log. */
export interface HookFailure {
  readonly hook: HookName;
  readonly name: string;
  readonly policy: HookPolicy;
  readonly error: DsbcError | Error;
}

export interface HookDefaults {
  readonly timeoutMs: number;
  readonly onError: HookPolicy;
}

const isHookName = (name: string): name is HookName => HOOKS.some((one) => one === name);

/**
 * The hooks of one application: called one after the other in the order they were added, each with a time limit. A
 * hook that throws, rejects or is late never breaks a call by itself; its policy says what happens.
 */
export class Hooks {
  readonly #hooks: Record<HookName, Registered[]> = {
    onRequest: [],
    beforeLookup: [],
    beforeRoute: [],
    beforeRelay: [],
    onResponse: [],
    onError: [],
  };
  readonly #log: Logger;
  readonly #onFailure: (failure: HookFailure) => void;
  #defaults: HookDefaults;

  constructor(
    defaults: HookDefaults,
    log: Logger,
    onFailure: (failure: HookFailure) => void = () => undefined,
  ) {
    this.#defaults = defaults;
    this.#log = log;
    this.#onFailure = onFailure;
  }

  /** New defaults, after a reload; hooks with options of their own keep them. */
  configure(defaults: HookDefaults): void {
    this.#defaults = defaults;
  }

  /**
   * Adds a hook behind those of the same name.
   * @throws DsbcError DSBC_HOOK_UNKNOWN if there is no hook of that name; DSBC_CONFIG_INVALID if it is no function
   */
  add<Name extends HookName>(name: Name, hook: Hook<Name>, options: HookOptions = {}): void {
    if (!isHookName(name)) {
      throw new DsbcError(
        'DSBC_HOOK_UNKNOWN',
        `there is no hook '${String(name)}'; there are ${HOOKS.join(', ')}`,
        {
          details: { found: String(name), expected: HOOKS },
        },
      );
    }
    if (typeof hook !== 'function') {
      throw new DsbcError('DSBC_CONFIG_INVALID', `hooks.${name}: expected a function, found ${typeof hook}`, {
        details: { path: `hooks.${name}`, expected: 'a function', found: typeof hook },
      });
    }
    this.#hooks[name].push({ run: hook, options });
  }

  /** Adds all hooks of a set; a name that is none is an error, whatever stands behind it. */
  addAll(set: HookSet): void {
    for (const [name, hooks] of Object.entries(set)) {
      const list: readonly unknown[] = Array.isArray(hooks) ? hooks : [hooks];
      for (const hook of list) this.add(name as HookName, hook as Hook<HookName>);
    }
  }

  has(name: HookName): boolean {
    return this.#hooks[name].length > 0;
  }

  /**
   * Runs the hooks of one name until one returns something.
   * @returns what it returned; undefined if all let the request go on
   * @throws the hook's error (or DSBC_HOOK_TIMEOUT) if its policy is `fail`
   */
  async run<Name extends HookName>(
    name: Name,
    context: Omit<HookContextOf<Name>, 'signal'>,
  ): Promise<HookResultOf<Name> | undefined> {
    for (const hook of this.#hooks[name]) {
      const result = await this.#call(name, hook, context);
      if (result !== undefined) return result as HookResultOf<Name>;
    }
    return undefined;
  }

  async #call(name: HookName, hook: Registered, context: Omit<HookContext, 'signal'>): Promise<unknown> {
    const { timeoutMs = this.#defaults.timeoutMs, onError = this.#defaults.onError } = hook.options;
    const abort = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    try {
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          const title = hook.options.name ?? hook.run.name;
          reject(
            new DsbcError('DSBC_HOOK_TIMEOUT', `hook ${name} '${title}' took more than ${timeoutMs} ms`),
          );
          abort.abort();
        }, timeoutMs);
      });
      // The race consumes the loser's rejection, so a hook that fails after its time harms nobody.
      return await Promise.race([callNow(hook.run, { ...context, signal: abort.signal }), late]);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(`a hook threw ${String(thrown)}`);
      const failure: HookFailure = {
        hook: name,
        name: hook.options.name ?? hook.run.name,
        policy: onError,
        error,
      };
      this.#log.error(
        { id: context.id, hook: name, name: failure.name, policy: onError, err: error },
        'hook failed',
      );
      this.#onFailure(failure);
      if (onError === 'fail') throw error;
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A hook that throws at once rejects like one that throws later. */
const callNow = (run: Registered['run'], context: HookContext): Promise<unknown> =>
  new Promise((resolve) => resolve(run(context)));
