import { readFileSync, writeFileSync } from 'node:fs';
import { callFlowPage } from './call-flow-table';

const PAGE = 'docs/call-flows.md';

it('docs/call-flows.md is what the rows of the tests make', () => {
  const page = callFlowPage();
  if (process.env['DSBC_WRITE_DOCS'] !== undefined) writeFileSync(PAGE, page);
  expect(squeeze(readFileSync(PAGE, 'utf8'))).toBe(squeeze(page));
});

/** Tables are laid out by the formatter: blanks and dashes say nothing. */
const squeeze = (text: string): string => text.replace(/ +/g, ' ').replace(/-{3,}/g, '---').trim();
