import { loadConfig } from '../config/load';
import type { Config } from '../config/types';
import { capabilityToken } from '../embedded/control/capabilities';
import { readCapabilities } from '../link/capabilities';
import { DRACHTIO_CAPABILITIES } from '../link/sip-link';
import { parseNameAddr } from '../message/name-addr';
import { parseMessage } from '../message/parse';
import type { SipMessage } from '../message/sip-message';
import { parseUri } from '../message/uri';
import { checkRequest } from '../message/validate';
import { detectNat } from '../nat/detect';
import { FLOW_TRANSPORTS } from '../nat/flow';
import { FlowTokens } from '../nat/flow-token';
import { createMemoryRegistry } from '../registry/memory';
import { openRegistry, whyMissing } from '../registry/open';
import type { Registry } from '../registry/registry';
import { decide } from '../routing/decide';
import type { KeyAnswer } from '../routing/deciding';
import type { Decision, FlowFact, Step } from '../routing/decision';
import { enquire, type Question } from '../routing/enquire';
import { readFacts } from '../routing/facts';
import { namedSite } from '../routing/named-site';
import { makeSnapshot, type Snapshot } from '../routing/snapshot';
import { nodeStates, type NodeStates } from '../routing/states';
import { EXIT, UsageError, type Command } from './command';
import { explainInput, type ExplainInput } from './explain-input';
import { configFile, configOption, parseOptions } from './options';
import { uncarried } from './uncarried';

const options = {
  ...configOption,
  method: { type: 'string' },
  source: { type: 'string' },
  transport: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  uri: { type: 'string' },
  'call-id': { type: 'string' },
  server: { type: 'string' },
  trace: { type: 'string' },
  out: { type: 'string', multiple: true },
  json: { type: 'boolean' },
} as const;

export const explainCommand: Command = {
  name: 'explain',
  summary: 'Say what would happen to a request, and why',
  usage: `Usage: dsbc explain [-c FILE] --method METHOD --source ADDRESS[:PORT] [--from WHO] --to WHO [OPTIONS]
       dsbc explain [-c FILE] --trace FILE [--source ADDRESS[:PORT]] [OPTIONS]

Says what would happen to a request and why, step by step: who is asking, what the registry says, which site and
node, by which relay. It asks the configured registry and knows the decisions of operators, but not the health of
nodes (dsbc status shows that); it sends nothing. WHO is an account or number, user@domain, or a URI.

Options:
  -c, --config FILE       the configuration; default: dsbc.yaml here, else /etc/dsbc/dsbc.yaml
      --method METHOD     REGISTER, INVITE, SUBSCRIBE, ...
      --source ADDRESS    where the packet comes from: decides whether it is an endpoint, a peer or a site
      --transport NAME    udp (default), tcp, tls, ws or wss
      --from WHO          the caller, default: the called party; for REGISTER the account
      --to WHO            the called party
      --uri URI           the Request-URI; default: made from --to
      --call-id TEXT      matters where affinity is "call"
      --server NAME       the SIP server it comes in by; default: the first
      --trace FILE        explain the first request in this file: raw SIP, or text of tcpdump -A or -X, tshark -V, -x
                          or follow, ngrep or sngrep (which tell the source, too)
      --out SYSTEM/SITE   as if this site were in maintenance; may be given several times
      --json              print one JSON object

Examples:
  dsbc explain -c dsbc.yaml --method INVITE --source 203.0.113.7 --from 1001 --to +12025550123
  dsbc explain -c dsbc.yaml --method REGISTER --source 203.0.113.7 --from 1001 --out source/main
  tcpdump -n -A -c 1 udp port 5060 > call.txt; dsbc explain -c dsbc.yaml --trace call.txt

Exit codes: 0 it would be carried, redirected, or answered here with success; 1 it would be refused or dropped;
3 the configuration is not valid.`,

  async run(argv, io) {
    const { values } = parseOptions(argv, options);
    const config = await loadConfig(configFile(values));
    const input = explainInput(values, config);
    const steps: Step[] = [];
    if (input.assumed !== undefined) steps.push({ step: 'caller', because: input.assumed });
    const decision = await explain(config, input, values.out ?? [], steps);
    io.out(values.json === true ? `${JSON.stringify(reportOf(decision, steps))}\n` : textOf(decision, steps));
    const isRefused = decision.kind === 'drop' || (decision.kind === 'answer' && decision.status >= 400);
    return isRefused ? EXIT.failed : EXIT.ok;
  },
};

/** The decision the call path would make, with its reasons. */
async function explain(
  config: Config,
  input: ExplainInput,
  out: readonly string[],
  steps: Step[],
): Promise<Decision> {
  const snapshot = makeSnapshot(config);
  const { source, server } = input;
  const parsed = parseMessage(input.text);
  if (!parsed.ok) throw new UsageError(`this is no SIP message: ${parsed.reason}`);
  const { message } = parsed;
  const wrong = checkRequest(message, source.transport === 'udp' ? 'datagram' : 'stream');
  if (wrong !== undefined) return refusal(wrong.status, wrong.reason, 'the message is malformed', steps);
  const left = uncarried(message.method, server.server, steps);
  if (left !== undefined) return left;
  const transport = FLOW_TRANSPORTS.find((each) => each === source.transport) ?? 'udp';
  const facts = readFacts({
    message,
    source,
    receivedOn: { address: server.entry.address, port: server.entry.port },
    server: server.server === 'embedded' ? readCapabilities(capabilityToken()) : DRACHTIO_CAPABILITIES,
    behindNat: detectNat(message, { ...source, transport }) !== undefined,
    flow: flowOf(message, config, snapshot),
  });
  if (!facts.ok) return refusal(facts.status, facts.reason, 'the Request-URI cannot be routed', steps);
  const question = enquire(facts.facts, snapshot, steps);
  if (question.kind === 'decided') return question.decision;
  const missing = whyMissing(config.registry);
  if (missing !== undefined)
    steps.push({
      step: 'registry',
      because: `${missing} yet: taken for an empty one, as dsbc run would make it`,
    });
  const registry =
    missing === undefined
      ? await openRegistry(config.registry, { mustConnect: true })
      : createMemoryRegistry();
  try {
    return decide(
      question,
      await ask(registry, question),
      snapshot,
      {
        states: await statesOf(registry, snapshot, out),
        turnOf: () => 0,
        seenAt: () => undefined,
        challenger: undefined,
      },
      steps,
    );
  } finally {
    await registry.close();
  }
}

/** One key after the other until one is known, as the call path does. */
async function ask(registry: Registry, { keys }: Question): Promise<KeyAnswer[]> {
  const answers: KeyAnswer[] = [];
  for (let place = 0; ; place++) {
    const key = keys.at(place)?.key;
    if (key === undefined) return answers;
    const answer = await registry.lookup(key);
    answers.push(answer);
    if (answer !== null) return answers;
  }
}

async function statesOf(registry: Registry, snapshot: Snapshot, out: readonly string[]): Promise<NodeStates> {
  const supposed = out.map((text) => {
    const [system = '', site = ''] = text.split('/');
    const found = namedSite(snapshot, system, site);
    if (!found.ok) throw new UsageError(`--out ${text}: ${found.reason}`);
    return { system, site, state: 'maintenance' as const };
  });
  return nodeStates(snapshot, [...(await registry.listDecisions()), ...supposed], () => false);
}

/** A flow token of ours in the topmost Route. */
function flowOf(message: SipMessage, config: Config, snapshot: Snapshot): FlowFact | undefined {
  const [top] = message.list('route');
  const uri = parseUri(parseNameAddr(top ?? '')?.uri ?? '');
  if (uri?.user === undefined || !snapshot.own.has(uri.host, uri.port)) return undefined;
  const read = new FlowTokens(config.nat.keys).read(uri.user);
  if (read.kind !== 'ok') return { token: uri.user, state: 'forged' };
  return { token: uri.user, state: 'valid', transport: read.flow.transport, ...read.flow.remote };
}

function refusal(status: number, reason: string, because: string, steps: Step[]): Decision {
  steps.push({ step: 'answer', because: `${status} ${reason}: ${because}` });
  return { kind: 'answer', status, reason, because, steps };
}

/** Without the steps inside, which are given beside it. */
function reportOf(decision: Decision, steps: readonly Step[]): object {
  return { ...decision, steps };
}

function textOf(decision: Decision, steps: readonly Step[]): string {
  const width = Math.max(...steps.map(({ step }) => step.length), 0);
  const lines = steps.map(({ step, because }) => `  ${step.padEnd(width)}  ${because}`);
  return [verdict(decision), ...lines, ''].join('\n');
}

function verdict(decision: Decision): string {
  switch (decision.kind) {
    case 'answer':
      return `Answered here: ${decision.status} ${decision.reason ?? ''}`.trimEnd();
    case 'drop':
      return 'Dropped without an answer';
    case 'dispatch': {
      const [first, ...rest] = decision.plan;
      const to = first === undefined ? 'nowhere' : `${first.system}/${first.site} at ${first.uri}`;
      const then = rest.map(({ site, uri }) => `${site} at ${uri}`).join(', ');
      return `Sent to ${to}${then === '' ? '' : `; if that fails: ${then}`}\n  Request-URI ${decision.requestUri}, relay ${decision.relay}${pathWords(decision.onPath)}`;
    }
    case 'outbound':
      return `Sent out to ${decision.nextHop} (allowed by ${decision.rule})\n  Request-URI ${decision.requestUri}, relay ${decision.relay}${pathWords(decision.onPath)}`;
    case 'to_flow':
      return `Sent along the flow to the endpoint that registered\n  Request-URI ${decision.requestUri}, relay ${decision.relay}${pathWords(decision.onPath)}`;
  }
}

const pathWords = (onPath: boolean): string =>
  onPath ? ', in-dialog requests pass through us' : ', in-dialog requests bypass us';
