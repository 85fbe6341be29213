import type { EventType } from '../../../plugin/registry/provisioning/event';
import type { Customer, RegistryEntry } from '../../../plugin/registry/registry';

export interface SentEvent {
  readonly event_type: EventType;
  readonly variables: Readonly<Record<string, unknown>> & {
    readonly i_event: number;
    readonly system: string;
  };
}

/** mulberry32: the same events for the same seed. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const SYSTEMS = ['source', 'target'] as const;

/** What happened on both systems, in the order in which it happened: ids of events grow in each system, time for all. */
export function history(count: number, seed: number): SentEvent[] {
  const below = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const numbers = { source: 0, target: 5000 };
  const started = Date.UTC(2026, 0, 1) / 1000;
  const accounts = Array.from({ length: 40 }, (_, n) => `${1000 + n}`);
  const dids = Array.from({ length: 30 }, (_, n) => `+1202555${1000 + n}`);
  const customers = ['acme', 'bolt', 'crux', 'dyne'];
  // Others than those that move: what a move means for an account depends on when it comes, and is told in tests of its own.
  const owners = ['east', 'north', 'south', 'west'];
  const types: readonly EventType[] = [
    'Account/New',
    'Account/New',
    'Account/Updated',
    'Account/Deleted',
    'Account/ID/Changed',
    'Account/Blocked',
    'Account/Unblocked',
    'DID/Provisioned',
    'DID/Provisioned',
    'DID/Released',
    'DID/Moved',
    'Customer/Exported',
    'Customer/RolledBack',
    'Customer/Deleted',
  ];
  let fresh = 0;
  return Array.from({ length: count }, (_, n) => {
    const system = pick(SYSTEMS);
    numbers[system] += 1 + below(3);
    const type = pick(types);
    const common = { i_event: numbers[system], system, event_time: started + n };
    const attributes = { customer: pick([...owners, null]), site: pick(['main', 'a', null]) };
    if (type.startsWith('Customer/')) {
      const systems = type === 'Customer/Deleted' ? {} : { source: 'source', target: 'target' };
      return { event_type: type, variables: { ...common, customer: pick(customers), ...systems } };
    }
    if (type.startsWith('DID/')) {
      const did = { ...common, did: pick(dids) };
      if (type === 'DID/Released') return { event_type: type, variables: did };
      const rings = { account: pick(accounts), ...attributes };
      const to = type === 'DID/Moved' ? { to_system: system === 'source' ? 'target' : 'source' } : {};
      return { event_type: type, variables: { ...did, ...rings, ...to } };
    }
    const account = { ...common, account: pick(accounts) };
    switch (type) {
      case 'Account/New':
      case 'Account/Updated':
        return { event_type: type, variables: { ...account, ...attributes } };
      case 'Account/ID/Changed':
        // To an id that nobody had, as a platform would insist.
        return { event_type: type, variables: { ...account, new_account: `n${(fresh += 1)}` } };
      default:
        return { event_type: type, variables: account };
    }
  });
}

interface Had {
  present: boolean;
  since: number;
  customer?: string | null;
  site?: string | null;
  account?: string | null;
  blocked?: boolean;
  movedTo?: string;
  movedAt?: number;
}

/**
 * The state both systems are in after it all, told plainly: each system's own table, changed event by event in the
 * order in which things happened.
 */
export function finalState(events: readonly SentEvent[]): {
  entries: RegistryEntry[];
  customers: Customer[];
} {
  const tables = new Map<string, Map<string, Had>>();
  const customers = new Map<string, Customer>();
  const had = (key: string, system: string): Had => {
    const table = tables.get(key) ?? new Map<string, Had>();
    tables.set(key, table);
    const row = table.get(system) ?? { present: false, since: -1 };
    table.set(system, row);
    return row;
  };
  for (const [at, { event_type: type, variables }] of events.entries()) {
    const { system } = variables;
    const text = (field: string) => variables[field] as string;
    const attributes = {
      customer: variables['customer'] as string | null,
      site: variables['site'] as string | null,
    };
    const account = `account:${text('account')}`;
    const did = `did:${text('did')}`;
    switch (type) {
      case 'Account/New':
        tables.get(account)?.delete(system);
        Object.assign(had(account, system), { present: true, since: at, ...attributes });
        break;
      case 'Account/Updated':
        Object.assign(had(account, system), { present: true, since: at, ...attributes });
        break;
      case 'Account/Deleted':
        Object.assign(had(account, system), { present: false, since: at });
        break;
      case 'Account/Blocked':
      case 'Account/Unblocked':
        had(account, system).blocked = type === 'Account/Blocked';
        break;
      case 'Account/ID/Changed': {
        const old = had(account, system);
        Object.assign(had(`account:${text('new_account')}`, system), { ...old, present: true, since: at });
        Object.assign(old, { present: false, since: at });
        break;
      }
      case 'DID/Provisioned':
        tables.get(did)?.delete(system);
        Object.assign(had(did, system), {
          present: true,
          since: at,
          account: text('account'),
          ...attributes,
        });
        break;
      case 'DID/Released':
        Object.assign(had(did, system), { present: false, since: at, movedTo: undefined });
        break;
      case 'DID/Moved':
        Object.assign(had(did, system), {
          present: false,
          since: at,
          account: text('account'),
          movedTo: text('to_system'),
          movedAt: at,
          ...attributes,
        });
        break;
      case 'Customer/Exported':
      case 'Customer/RolledBack': {
        const id = text('customer');
        customers.set(id, { id, source: 'source', target: 'target', exported: type === 'Customer/Exported' });
        break;
      }
      case 'Customer/Deleted':
        // The other system's clean-up after a move changes nothing.
        if (system === (customers.get(text('customer'))?.exported === true ? 'target' : 'source'))
          customers.delete(text('customer'));
    }
  }
  const entries: RegistryEntry[] = [];
  for (const [key, table] of tables) {
    const rows = [...table];
    const here = rows.filter(([, row]) => row.present).sort(([, a], [, b]) => b.since - a.since)[0];
    const moved = rows
      .filter(([, row]) => row.movedTo !== undefined && row.movedAt! > (table.get(row.movedTo)?.since ?? -1))
      .sort(([, a], [, b]) => b.movedAt! - a.movedAt!)[0];
    const winner = here ?? moved;
    if (winner === undefined) continue;
    const [system, row] = winner;
    const [kind, value] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
    entries.push({
      kind: kind as RegistryEntry['kind'],
      value,
      system: here === undefined ? row.movedTo! : system,
      ...(row.account ? { account: row.account } : {}),
      ...(row.site && here !== undefined ? { site: row.site } : {}),
      ...(row.customer ? { customer: row.customer } : {}),
      ...(row.blocked === true ? { blocked: true } : {}),
    });
  }
  return { entries, customers: [...customers.values()] };
}

/** What a registry holds, in a form that compares. */
export function sorted(items: readonly object[]): string[] {
  return items.map((item) => JSON.stringify(Object.entries(item).sort())).sort();
}
