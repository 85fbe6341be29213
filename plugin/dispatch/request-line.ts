import type { RequestRecord } from './request-record';

/** The log line of one request: its record, the attempts as their outcomes. */
export type RequestLine = Omit<RequestRecord, 'attempts' | 'milliseconds'> & {
  readonly attempts: readonly string[];
  readonly ms: number;
};

/** What each field of the line means, for docs/log.md; one that is not known or does not apply is absent. */
export const REQUEST_LINE = {
  id: 'Names the request in every line about it.',
  method: 'The SIP method.',
  callId: 'Its Call-ID.',
  server: 'The SIP server it came in by (`sip_servers[].name`).',
  source: 'The address it came from.',
  transport: 'What it came over.',
  role: 'Who that is: `endpoint`, `peer` or `site`.',
  sourceName: "The peer's name, or the site as `system/site`.",
  key: 'What the registry was asked for and the decision is about: `account 1001`, `did +12025550123`.',
  decision:
    '`dispatch` (to a system), `to_flow` (to an endpoint), `outbound`, `answer` (ours), `drop`; absent if a hook or a fault of the message came first.',
  relay: 'How it was carried: `forward`, `proxy` or `b2bua`.',
  onPath: 'Whether later requests of its dialog come through us.',
  system: 'The system it went to, or would have.',
  site: 'The site that answered, or was tried last.',
  node: 'The node of it.',
  attempts: 'Each attempt, in order: `site:status`, or what came instead of a status.',
  status: 'The status its sender got.',
  ending:
    '`answered`, `cancelled`, `duplicate`, `dropped` (no answer on purpose), `lost` (no answer, `cause` says why), `passed` (to the application).',
  reason: 'The reason phrase of an answer of ours; why the request was not taken; the error that ended it.',
  because: 'Why it was answered here or dropped, in the words of `dsbc explain`.',
  hook: 'The hook that had the last word about its way, or failed with the policy `fail`.',
  hookName: 'The name of that hook: as given, of its function, or its place (`onRequest#2`).',
  cause: 'Why the sender got nothing from us.',
  oversize: 'It outgrew `mtu`: by how much, and what it was sent over first.',
  ms: 'Milliseconds from its arrival to its end.',
} as const satisfies Readonly<Record<keyof RequestLine, string>>;

/** What of the record goes into the log line: everything that is known. */
export function logFields(record: RequestRecord): RequestLine {
  const { attempts, milliseconds, ...fields } = record;
  return {
    ...fields,
    attempts: attempts.map(
      ({ target, outcome, status }) => `${target.site ?? target.uri}:${status ?? outcome}`,
    ),
    ms: Math.round(milliseconds * 10) / 10,
  };
}

/** The fields as Markdown, for docs/log.md. */
export function requestLineReference(): string {
  const rows = Object.entries(REQUEST_LINE).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`);
  return ['| field | meaning |', '| --- | --- |', ...rows].join('\n');
}
