// Runs SIPp and reads its statistics file.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SCENARIOS = new URL('../../fixtures/sipp/', import.meta.url).pathname;

/** A CSV of accounts for SIPp's -inf: caller;called. */
export function accountsFile(folder, accounts) {
  const file = join(folder, 'accounts.csv');
  const rows = accounts.map((account, i) => `${account};${accounts[(i * 7 + 1) % accounts.length]}`);
  writeFileSync(file, `SEQUENTIAL\n${rows.join('\n')}\n`);
  return file;
}

/** Starts a site that answers at once; resolves with { pid, stop }. */
export function startSite(address, port) {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-site-'));
  const child = spawn(
    'sipp',
    [
      '-sf',
      `${SCENARIOS}uas-site.xml`,
      '-i',
      address,
      '-p',
      String(port),
      '-nostdin',
      '-buff_size',
      '4194304',
      '-trace_stat',
      '-fd',
      '1',
      '-stf',
      join(folder, 'stat.csv'),
    ],
    { stdio: 'ignore', cwd: folder },
  );
  const done = new Promise((resolve) => child.once('exit', resolve));
  return {
    pid: child.pid,
    statistics: () => lastRow(readFileSync(join(folder, 'stat.csv'), 'latin1')),
    stop: async () => {
      child.kill('SIGKILL');
      await done;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Sends `count` transactions at `rate` per second; resolves with what SIPp counted. */
export async function runClient({
  scenario,
  service,
  accounts,
  local,
  localPort,
  remote,
  remotePort,
  rate,
  count,
  timeoutS = 120,
}) {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-uac-'));
  const stat = join(folder, 'stat.csv');
  const args = [
    ['-sf', `${SCENARIOS}${scenario}.xml`],
    ['-s', service],
    ['-inf', accountsFile(folder, accounts)],
    ['-i', local],
    ['-p', String(localPort)],
    ['-r', String(rate)],
    ['-m', String(count)],
    ['-l', '100000'],
    ['-nostdin', '-trace_stat', '-trace_rtt', '-rtt_freq', '200'],
    ['-buff_size', '4194304'],
    ['-fd', '1', '-stf', stat],
    ['-timeout', `${timeoutS}s`, '-timeout_error'],
    [`${remote}:${remotePort}`],
  ].flat();
  const child = spawn('sipp', args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder });
  let errors = '';
  child.stderr.on('data', (chunk) => (errors = (errors + String(chunk)).slice(-2000)));
  const code = await new Promise((resolve) => child.once('exit', resolve));
  const row = lastRow(readFileSync(stat, 'latin1'));
  const times = readdirSync(folder)
    .filter((name) => name.endsWith('_rtt.csv'))
    .flatMap((name) => readFileSync(join(folder, name), 'latin1').trim().split('\n').slice(1))
    .map((line) => Number(line.split(';')[1]))
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  rmSync(folder, { recursive: true, force: true });
  const quantile = (q) => times[Math.min(times.length - 1, Math.floor(times.length * q))];
  return {
    code,
    errors,
    succeeded: Number(row['SuccessfulCall(C)']),
    failed: Number(row['FailedCall(C)']),
    retransmissions: Number(row['Retransmissions(C)']),
    achieved: Number(row['CallRate(C)']),
    p50: quantile(0.5),
    p99: quantile(0.99),
  };
}

function lastRow(text) {
  const lines = text.trim().split('\n');
  const names = lines[0].split(';');
  const values = lines.at(-1).split(';');
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}
