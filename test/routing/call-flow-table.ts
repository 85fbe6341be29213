import { CALL_FLOW_GROUPS, type CallFlow } from './call-flows';
import { decideRow, type SipServerKind } from './call-flows/decide-row';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const NAMES: Readonly<Record<string, string>> = {
  embedded: 'the embedded server',
  drachtio: 'drachtio-server',
};

/** How a row's request is carried, in the words of the glossary. */
function relayOf(row: CallFlow, kind: SipServerKind): string {
  const decision = decideRow(row, kind);
  if (decision.kind === 'answer') return `answered ${decision.status}`;
  if (decision.kind === 'drop') return 'none';
  const { relay, onPath } = decision;
  return relay === 'proxy' ? `proxy, ${onPath ? 'on path' : 'bypass'}` : relay;
}

/** The relay, and where drachtio-server differs, its own. */
function relayCell(row: CallFlow): string {
  const { embedded, drachtio } = row.byServer ?? {};
  const words = embedded === undefined ? [relayOf(row, 'embedded')] : [];
  const other = drachtio === undefined ? relayOf(row, 'drachtio') : undefined;
  const own = Object.entries(row.byServer ?? {}).map(
    ([kind, status]) => `${NAMES[kind]} itself: ${status === 0 ? 'no answer' : status}`,
  );
  const differs = other === undefined || words.includes(other) ? [] : [`drachtio-server: ${other}`];
  return [...words, ...differs, ...own].join('; ');
}

function tableOf(rows: readonly CallFlow[]): string[] {
  return [
    '| who | to whom | what the registry says | what happens | relay |',
    '| --- | --- | --- | --- | --- |',
    ...rows.map(
      (row) =>
        `| ${[row.who, `${row.request.method ?? 'INVITE'}: ${row.toWhom}`, row.registry, row.happens, relayCell(row)].map(cell).join(' | ')} |`,
    ),
  ];
}

/** docs/call-flows.md: made of the rows that the tests run. */
export function callFlowPage(): string {
  return [
    '# Call flows',
    '',
    'One row a flow. The decision of each is tested by `test/routing/call-flows.test.ts`; `test/integration/call-flows.test.ts`',
    'sends each through the whole program, by the VIP and, calls and registrations, by its alias, and looks at the bytes that',
    'the site, vendor or phone gets: on the embedded SIP server and, where `DRACHTIO_BIN` names one, on drachtio-server. Where',
    'that one needs another way the row says it; why is in [sip-servers.md](sip-servers.md).',
    '',
    'To make the page anew: `DSBC_WRITE_DOCS=1 npx jest test/routing/call-flow-page`.',
    ...CALL_FLOW_GROUPS.flatMap(({ title, rows }) => ['', `## ${title}`, '', ...tableOf(rows)]),
    '',
  ].join('\n');
}
