import { CALL_FLOW_GROUPS, type CallFlow, type Expected } from './call-flows';
import { expectedOn } from './call-flows/decide-row';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const NAMES: Readonly<Record<string, string>> = {
  embedded: 'the embedded server',
  drachtio: 'drachtio-server',
};

/** How a row's request is carried, in the words of the glossary. */
function relayOf({ kind, relay, onPath, status }: Expected): string {
  if (kind === 'answer') return `answered ${status ?? ''}`.trim();
  if (kind === 'drop') return 'none';
  if (relay === undefined) return 'as the method asks';
  return relay === 'proxy' && onPath !== undefined ? `proxy, ${onPath ? 'on path' : 'bypass'}` : relay;
}

/** The relay, and where drachtio-server differs, its own; where a row is not run, why. */
function relayCell(row: CallFlow): string {
  const words = relayOf(row.expected);
  const other = relayOf(expectedOn(row, 'drachtio'));
  const own = Object.entries(row.byServer ?? {}).map(
    ([kind, status]) => `${NAMES[kind]} itself: ${status === 0 ? 'no answer' : status}`,
  );
  const notes = Object.entries(row.notOn ?? {}).map(([kind, why]) => `not run on ${NAMES[kind]}: ${why}`);
  return [words, ...(other === words ? [] : [`drachtio-server: ${other}`]), ...own, ...notes].join('; ');
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
    'sends each through the whole program and looks at the bytes that the site, vendor or phone gets, on the embedded SIP',
    'server and, where `DRACHTIO_BIN` names one, on drachtio-server. Where that one needs another way it is said; why is in',
    '[sip-servers.md](sip-servers.md). To make the page anew: `DSBC_WRITE_DOCS=1 npx jest test/routing/call-flow-page`.',
    ...CALL_FLOW_GROUPS.flatMap(({ title, rows }) => ['', `## ${title}`, '', ...tableOf(rows)]),
    '',
  ].join('\n');
}
