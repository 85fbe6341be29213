import { CALL_FLOWS, type CallFlow } from './call-flows';

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** How a row's request is carried, in the words of the glossary. */
function relayOf({ expected }: CallFlow): string {
  const { kind, relay, onPath, status } = expected;
  if (kind === 'answer') return `answered ${status ?? ''}`.trim();
  if (kind === 'drop') return 'none';
  if (relay === undefined) return 'as the method asks';
  return relay === 'proxy' && onPath !== undefined ? `proxy, ${onPath ? 'on path' : 'bypass'}` : relay;
}

/** docs/call-flows.md: made of the rows that the tests run. */
export function callFlowPage(): string {
  const rows = CALL_FLOWS.map(
    (row) =>
      `| ${[row.who, `${row.request.method ?? 'INVITE'}: ${row.toWhom}`, row.registry, row.happens, relayOf(row)].map(cell).join(' | ')} |`,
  );
  return [
    '# Call flows',
    '',
    'One row a flow, made of the rows that `test/routing/call-flows.test.ts` runs on a server that can do all that relays',
    'ask for; what differs on drachtio-server is in [sip-servers.md](sip-servers.md). To make the page anew:',
    '`DSBC_WRITE_DOCS=1 npx jest test/routing/call-flow-page`.',
    '',
    '| who | to whom | what the registry says | what happens | relay |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
