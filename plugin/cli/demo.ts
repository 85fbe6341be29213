import { serveAdmin } from '../operation/serve-admin';
import { EXIT, UsageError, type Command, type Io } from './command';
import { Checks, type Check } from './demo/checks';
import { setScene, type Scene } from './demo/scene';
import { tellStory } from './demo/story';
import { parseOptions } from './options';

const USAGE = `Usage: dsbc demo [--json] [--keep] [--port PORT]

Shows the product at work on this machine, with nothing else installed: the embedded
SIP server, two systems (source, target) with two sites each, a registry with 4,000
accounts and 20 DIDs, phones with and without NAT. Every expectation is checked.

  --json       end with one line of JSON: verdict, checks, requests by site and method
  --keep       leave it running afterwards, to play with, with an admin API on a free port of
               127.0.0.1 for dsbc status, dsbc site and the page; stop it with Ctrl-C
  --port PORT  the SIP port on 127.0.0.1 (default: any free one; 5060 with --keep)

Exit codes: 0 everything was as expected, 1 something was not.`;

export const demoCommand: Command = {
  name: 'demo',
  summary: 'Show the product at work with simulated sites and phones, and check every step',
  usage: USAGE,
  run: async (argv, io) => {
    const options = readOptions(argv);
    const scene = await setScene(options.port);
    try {
      return await play(scene, options, io);
    } finally {
      await scene.close();
    }
  },
};

interface DemoOptions {
  readonly json: boolean;
  readonly keep: boolean;
  readonly port: number;
}

function readOptions(argv: readonly string[]): DemoOptions {
  const { values } = parseOptions(argv, {
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    port: { type: 'string' },
  });
  const port = values.port ?? (values.keep ? '5060' : '0');
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65535)
    throw new UsageError(`--port: expected a port number, found ${port}`);
  return { json: values.json, keep: values.keep, port: Number(port) };
}

async function play({ world, dsbc, close }: Scene, options: DemoOptions, io: Io): Promise<number> {
  const tell = (text: string): void => (options.json ? io.err(text) : io.out(text));
  const started = performance.now();
  tell(`the DSBC listens on ${world.entry.address}:${world.entry.port} (UDP and TCP)\n`);
  const checks = new Checks((check) => tell(checkLine(check)));
  await tellStory(world, checks, (line) => tell(`\n${line}\n`));
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  tell(`\n${table(world.counts())}\n`);
  const failed = checks.all.filter((check) => !check.ok).length;
  const verdict = checks.passed ? 'pass' : 'fail';
  tell(`verdict: ${verdict} (${checks.all.length - failed} of ${checks.all.length} checks, ${seconds} s)\n`);
  if (options.json) io.out(`${JSON.stringify({ verdict, checks: checks.all, sites: world.counts() })}\n`);
  if (options.keep) {
    const { address, port } = await serveAdmin(dsbc);
    tell(stillRunning(`http://${address}:${port}`));
    await new Promise<void>((resolve) => {
      if (io.signal.aborted) resolve();
      io.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await close();
  }
  return checks.passed ? EXIT.ok : EXIT.failed;
}

const stillRunning = (url: string): string => `
still running; accounts 10000 to 11999 (source) and 20000 to 21999 (target), password secret-ACCOUNT
the live page: ${url}/
to try in another terminal, in this folder:

  export DSBC_ADMIN_URL=${url}
  npx dsbc status
  npx dsbc site maintenance source/main --why update
  npx dsbc site list
  npx dsbc site active source/main
  npx dsbc flows
`;

const checkLine = ({ ok, name, detail }: Check): string => `  ${ok ? 'ok  ' : 'FAIL'} ${name} (${detail})\n`;

/** Who got what: sites down, methods across. */
function table(counts: Readonly<Record<string, Readonly<Record<string, number>>>>): string {
  const methods = [...new Set(Object.values(counts).flatMap((row) => Object.keys(row)))].sort();
  const rows = Object.entries(counts).map(([site, row]) => [
    site,
    ...methods.map((method) => String(row[method] ?? 0)),
  ]);
  const all = [['site', ...methods], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart((widths[i] ?? 0) + 2)))
        .join(''),
    )
    .map((line) => `  ${line}\n`)
    .join('');
}
