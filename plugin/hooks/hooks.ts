import { DsbcError } from '../errors';
import type { Logger } from '../telemetry/logger';
import { checkedOptions } from './hook-options';
import { faultOf, merged, withResult } from './hook-result';
import { asValue } from './hook-values';
import {
  HOOKS,
  type Hook,
  type HookContext,
  type HookContextOf,
  type HookName,
  type HookOptions,
  type HookPolicy,
  type HookResultOf,
  type HookSet,
} from './hook-types';

interface Registered {
  /** Tells it from the others in the log. */
  readonly title: string;
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
   * @throws DsbcError DSBC_HOOK_UNKNOWN if there is no hook of that name; DSBC_CONFIG_INVALID if it is no function, or
   *   an option is unknown or wrong
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
    const checked = checkedOptions(name, options);
    const hooks = this.#hooks[name];
    const title = checked.name ?? (hook.name === '' ? `${name}#${hooks.length + 1}` : hook.name);
    hooks.push({ title, run: hook, options: checked });
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
   * Runs the hooks of one name, each with what those before it changed; one that answers the request ends it.
   * @param check what the caller has against a result, beside its shape; undefined: nothing
   * @param said told the name of each hook that changed something, answered, or ended the request by failing
   * @returns what they returned, together; undefined if all let the request go on as it is
   * @throws the hook's error (DSBC_HOOK_TIMEOUT when late, DSBC_HOOK_RESULT for a wrong result) if its policy is `fail`
   */
  async run<Name extends HookName>(
    name: Name,
    context: Omit<HookContextOf<Name>, 'signal'>,
    check?: (result: HookResultOf<Name>) => string | undefined,
    said?: (title: string) => void,
  ): Promise<HookResultOf<Name> | undefined> {
    let seen: Omit<HookContext, 'signal'> = asValue(context);
    let all: object | undefined;
    const fault = (result: unknown): string | undefined =>
      faultOf(name, result, context.message.method) ?? check?.(result as HookResultOf<Name>);
    for (const hook of this.#hooks[name]) {
      const result = asValue(await this.#call(name, hook, seen, fault, said));
      if (result === undefined) continue;
      said?.(hook.title);
      if ('respond' in result) return result;
      all = merged(all, result);
      seen = withResult(seen, result);
    }
    return all;
  }

  async #call(
    name: HookName,
    hook: Registered,
    context: Omit<HookContext, 'signal'>,
    faultIn: (result: unknown) => string | undefined,
    said: ((title: string) => void) | undefined,
  ): Promise<object | undefined> {
    const { timeoutMs = this.#defaults.timeoutMs, onError = this.#defaults.onError } = hook.options;
    const abort = new AbortController();
    const tooLate = (): DsbcError => {
      abort.abort();
      return new DsbcError(
        'DSBC_HOOK_TIMEOUT',
        `hook ${name} '${hook.title}' took more than ${timeoutMs} ms`,
      );
    };
    const start = performance.now();
    let timer: NodeJS.Timeout | undefined;
    try {
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(tooLate()), timeoutMs);
      });
      const given = Object.freeze({ ...context, signal: abort.signal });
      // The race consumes the loser's rejection, so a hook that fails after its time harms nobody.
      const result = await Promise.race([callNow(hook.run, given), late]);
      // One that keeps the thread busy keeps the timer from firing, too.
      if (performance.now() - start > timeoutMs) throw tooLate();
      if (result === undefined || result === null) return undefined;
      const fault = faultIn(result);
      if (fault !== undefined)
        throw new DsbcError('DSBC_HOOK_RESULT', `hook ${name} '${hook.title}': ${fault}`);
      return result;
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(`a hook threw ${String(thrown)}`);
      const failure: HookFailure = {
        hook: name,
        name: hook.title,
        policy: onError,
        error,
      };
      this.#log.error(
        { id: context.id, hook: name, name: failure.name, policy: onError, err: error },
        'hook failed',
      );
      this.#onFailure(failure);
      if (onError === 'fail') {
        said?.(hook.title);
        throw error;
      }
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A hook that throws at once rejects like one that throws later. */
const callNow = (run: Registered['run'], context: HookContext): Promise<unknown> =>
  new Promise((resolve) => resolve(run(context)));
