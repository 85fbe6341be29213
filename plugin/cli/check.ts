import { topologyAdvice, type Advice } from '../config/advice';
import { fileAdvice } from '../config/file-advice';
import { loadConfig } from '../config/load';
import { secretAdvice } from '../config/secret-advice';
import type { Config, SystemConfig } from '../config/types';
import { DsbcError } from '../errors';
import { configuredShares, effectiveShares } from '../routing/share';
import { EXIT, type Command, type Io } from './command';
import { configFile, configOption, parseOptions } from './options';

/** The shares of a system's sites, by name, 0 to 1. */
type Shares = Readonly<Record<string, number>>;

interface SystemReport {
  readonly affinity: string;
  readonly shares: Shares;
  /** With this site out (in maintenance, or down), the shares of the others. */
  readonly without: Readonly<Record<string, Shares>>;
}

/** What `dsbc check --json` prints for a valid file. */
interface CheckReport {
  readonly valid: true;
  readonly file: string;
  readonly systems: Readonly<Record<string, SystemReport>>;
  readonly advice: readonly Advice[];
}

export const checkCommand: Command = {
  name: 'check',
  summary: 'Validate a configuration, show the shares, advise on topology',
  usage: `Usage: dsbc check [-c FILE] [--json] [--strict] [--no-files]

Validates a configuration and changes nothing: every error with file, line, path, what was expected and what
was found. For a valid one it shows for each system the share of new accounts that each site gets, now and
with each single site out, and gives advice on the topology: warnings (sooner or later callers will notice)
and notes. docs/cli.md lists all advice. A warning is also a file it names that is not there: certificates, keys,
the folder of the registry; and a secret of the examples.

Options:
  -c, --config FILE  the configuration; default: dsbc.yaml here, else /etc/dsbc/dsbc.yaml
      --json         print one JSON object instead of text
      --strict       warnings make it fail (exit code 1)
      --no-files     don't look for the files it names: it serves on another machine

Examples:
  dsbc check -c /etc/dsbc/dsbc.yaml
  dsbc check -c /etc/dsbc/dsbc.yaml --json | jq .systems.source.without.main

Exit codes: 0 valid, 1 valid but with warnings (--strict), 3 not valid.`,

  async run(argv, io) {
    const { values } = parseOptions(argv, {
      ...configOption,
      json: { type: 'boolean' },
      strict: { type: 'boolean' },
      'no-files': { type: 'boolean' },
    });
    const file = configFile(values);
    let config: Config;
    try {
      config = await loadConfig(file);
    } catch (error) {
      if (values.json !== true || !(error instanceof DsbcError)) throw error;
      const problems = error.details['problems'] ?? [{ text: error.message }];
      io.out(`${JSON.stringify({ valid: false, file, code: error.code, problems })}\n`);
      return EXIT.config;
    }
    const files = values['no-files'] === true ? [] : fileAdvice(config);
    const report = reportOn(file, config, [...files, ...secretAdvice(config), ...topologyAdvice(config)]);
    if (values.json === true) io.out(`${JSON.stringify(report)}\n`);
    else printReport(report, io);
    const hasWarnings = report.advice.some(({ level }) => level === 'warning');
    return values.strict === true && hasWarnings ? EXIT.failed : EXIT.ok;
  },
};

function reportOn(file: string, config: Config, advice: readonly Advice[]): CheckReport {
  const systems = Object.entries(config.systems).map(
    ([name, system]) => [name, systemReport(system)] as const,
  );
  return { valid: true, file, systems: Object.fromEntries(systems), advice };
}

function systemReport(system: SystemConfig): SystemReport {
  const names = Object.keys(system.sites);
  const configured = configuredShares(names, system.load_distribution);
  const sharesIf = (isIn: (site: string) => boolean): Shares => {
    const shares = effectiveShares(configured, names.map(isIn));
    return Object.fromEntries(names.map((name, index) => [name, shares[index] ?? 0]));
  };
  return {
    affinity: system.affinity,
    shares: sharesIf(() => true),
    without: Object.fromEntries(names.map((out) => [out, sharesIf((name) => name !== out)])),
  };
}

function printReport(report: CheckReport, io: Io): void {
  io.out(`${report.file} is valid.\n`);
  for (const [name, system] of Object.entries(report.systems)) {
    io.out(`\nSystem ${name} (affinity: ${system.affinity})\n`);
    io.out(`${table(system)}\n`);
  }
  for (const level of ['warning', 'note'] as const) {
    const advice = report.advice.filter((each) => each.level === level);
    if (advice.length > 0) io.out(`\n${level === 'warning' ? 'Warnings' : 'Notes'}\n`);
    for (const each of advice) {
      io.out(`  ${each.code}${each.path === '' ? '' : ` at ${each.path}`} (${each.about})\n`);
      io.out(`    ${each.reason}\n    ${each.fix}\n`);
    }
  }
}

/** One row for now, one for each site that might be out. */
function table(system: SystemReport): string {
  const sites = Object.keys(system.shares);
  const rows = [
    ['', ...sites],
    ['now', ...sites.map((site) => percent(system.shares[site]))],
    ...sites.map((out) => [
      `without ${out}`,
      ...sites.map((site) => (site === out ? '-' : percent(system.without[out]?.[site]))),
    ]),
  ];
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))) ?? [];
  return rows
    .map(
      (row) =>
        `  ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')}`,
    )
    .join('\n');
}

function percent(share = 0): string {
  return `${Number((share * 100).toFixed(2))} %`;
}
