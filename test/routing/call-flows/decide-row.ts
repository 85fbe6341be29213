import { checkRequest, type Refusal } from '../../../plugin/message/validate';
import type { Decision, LookupKey, Step } from '../../../plugin/routing/decision';
import type { KeyAnswer } from '../../../plugin/routing/deciding';
import { route } from '../../../plugin/routing/decide';
import { readFacts, type Arrival } from '../../../plugin/routing/facts';
import type { RoutingSettings } from '../../../plugin/routing/settings';
import { makeSnapshot } from '../../../plugin/routing/snapshot';
import { nodeStates, type OperatorDecisionView } from '../../../plugin/routing/states';
import { ABLE, LAB, labLookup, parsed, requestText, SOURCES, UNABLE, world } from '../../fixtures/routing';
import type { CallFlow, Expected } from './row';

export type SipServerKind = 'embedded' | 'drachtio';

/** What a row expects on a SIP server. */
export function expectedOn({ expected, onDrachtio }: CallFlow, kind: SipServerKind): Expected {
  if (kind !== 'drachtio' || onDrachtio === undefined) return expected;
  return { ...(onDrachtio.kind === undefined ? expected : {}), ...onDrachtio } as Expected;
}

/** Puts other addresses in place of those of the documentation; the runner's are of this machine. */
export type Mapping = (text: string) => string;

const asItIs: Mapping = (text) => text;

export const mapped = <T>(value: T, here: Mapping): T => JSON.parse(here(JSON.stringify(value))) as T;

export const settingsOf = (row: CallFlow, here: Mapping): RoutingSettings =>
  mapped({ ...LAB, ...row.settings }, here);

/** The sites a row takes out of service, as an operator's decisions. */
export const decisionsOf = ({ out = [] }: CallFlow): OperatorDecisionView[] =>
  out.map((name) => {
    const [system = '', site = ''] = name.split('/');
    return { system, site, state: 'maintenance' };
  });

/** Customer acme's accounts and DIDs, which move from source to target. */
const isAcme = ({ value }: LookupKey): boolean => /^(\+1202555)?11\d\d$/.test(value);

const factsDefaults = {
  source: SOURCES.phone,
  receivedOn: { address: '', port: 0 },
  server: ABLE,
  behindNat: false,
};

/** What is answered before there is anything to decide. */
function refusal({ status, reason, headers }: Refusal, steps: Step[] | undefined): Decision {
  steps?.push({ step: 'answer', because: `${status} ${reason}` });
  return {
    kind: 'answer',
    status,
    reason,
    because: reason,
    ...(headers === undefined ? {} : { headers }),
    steps: steps ?? [],
  };
}

/** The decision of a row: what the call path would make of it on that server. */
export function decideRow(row: CallFlow, kind: SipServerKind, here = asItIs, steps?: Step[]): Decision {
  const snapshot = makeSnapshot(settingsOf(row, here));
  const { registeredAs, ...values } = row.arrival ?? {};
  const arrival: Partial<Arrival> = {
    ...mapped(values, here),
    ...(registeredAs === undefined ? {} : { registeredAs }),
    source: mapped(values.source ?? { transport: 'udp', address: '203.0.113.7', port: 40812 }, here),
    receivedOn: mapped(values.receivedOn ?? { address: '198.51.100.10', port: 5060 }, here),
    server: kind === 'embedded' ? ABLE : UNABLE,
  };
  const lookup = (key: LookupKey): KeyAnswer => {
    const found = labLookup(key);
    if (found === null || found === 'unavailable' || !isAcme(key)) return found;
    return { ...found, system: row.exported === true ? 'target' : 'source' };
  };
  const states = nodeStates(snapshot, decisionsOf(row), () => false);
  const message = parsed(requestText(mapped(row.request, here)));
  const fault = checkRequest(message, arrival.source?.transport === 'udp' ? 'datagram' : 'stream');
  // An OPTIONS at its last hop may be for us.
  if (fault !== undefined && !(fault.status === 483 && message.method === 'OPTIONS'))
    return refusal(fault, steps);
  const read = readFacts({ ...factsDefaults, ...arrival, message });
  return read.ok ? route(read.facts, snapshot, lookup, world({ states }), steps) : refusal(read, steps);
}
