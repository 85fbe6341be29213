import type { Snapshot } from './snapshot';
import { nodeStates, type NodeStates, type OperatorDecisionView } from './states';

/**
 * What operators and health say of all nodes, put together once per change rather than once per request. Each SIP
 * server has its own view, since each reaches nodes its own way.
 */
export class SiteStates {
  #snapshot: Snapshot;
  #decisions: readonly OperatorDecisionView[] = [];
  readonly #isDown: (server: string, nodeKey: string) => boolean;
  readonly #views = new Map<string, NodeStates>();

  constructor(snapshot: Snapshot, isDown: (server: string, nodeKey: string) => boolean) {
    this.#snapshot = snapshot;
    this.#isDown = isDown;
  }

  get decisions(): readonly OperatorDecisionView[] {
    return this.#decisions;
  }

  /** A reload: decisions of operators are kept. */
  configure(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    this.changed();
  }

  decide(decisions: readonly OperatorDecisionView[]): void {
    this.#decisions = decisions;
    this.changed();
  }

  /** The health of some node has changed. */
  changed(): void {
    this.#views.clear();
  }

  of(server: string): NodeStates {
    let view = this.#views.get(server);
    if (view === undefined) {
      view = nodeStates(this.#snapshot, this.#decisions, (key) => this.#isDown(server, key));
      this.#views.set(server, view);
    }
    return view;
  }
}
