import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_CONFIG_BYTES } from '../../plugin/config/config-text';
import { loadConfig, readConfig } from '../../plugin/config/load';
import { DsbcError } from '../../plugin/errors';

const YAML = `# a comment
domains: [example.com]
sip_servers:
  - name: main
    server: drachtio
    entry: { address: 127.0.0.1, port: 5060 }
    control: { secret: "\${DRACHTIO_SECRET}" }
systems:
  source:
    sites:
      main: { nodes: [ { uri: 'sip:198.51.100.21:5060' } ] }
`;
const env = { DRACHTIO_SECRET: 'cymru-4711' };

const textsOf = (text: string, environment: Record<string, string> = env): string => {
  const result = readConfig(text, 'dsbc.yaml', environment);
  return result.ok ? '' : result.problems.map((problem) => problem.text).join('\n');
};
const valueOf = (text: string, environment: Record<string, string> = env) => {
  const result = readConfig(text, '/etc/dsbc/dsbc.yaml', environment);
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.text).join('\n'));
  return result.config;
};

describe('readConfig', () => {
  it('fills in the environment', () => {
    const [server] = valueOf(YAML).sip_servers;
    expect(server?.server === 'drachtio' && server.control.secret).toBe('cymru-4711');
  });

  it('keeps a secret of digits a text', () => {
    const [server] = valueOf(YAML, {
      DRACHTIO_SECRET: '0042',
    }).sip_servers;
    expect(server?.server === 'drachtio' && server.control.secret).toBe('0042');
  });

  it('reads numbers, true and false from the environment where the schema wants them', () => {
    const config = valueOf(
      `${YAML}mtu: \${MTU}\nadmin: { port: "\${PORT:-0}", enabled: "\${ADMIN:-false}" }\n`,
      { ...env, MTU: '1400' },
    );
    expect(config.mtu).toBe(1400);
    expect(config.admin.port).toBe(0);
    expect(config.admin.enabled).toBe(false);
  });

  it('takes the default for a variable that is unset or empty', () => {
    expect(valueOf(`${YAML}instance: \${NAME:-dsbc-7}\n`).instance).toBe('dsbc-7');
    expect(valueOf(`${YAML}instance: \${NAME:-dsbc-7}\n`, { ...env, NAME: '' }).instance).toBe('dsbc-7');
  });

  it('leaves $${ as a literal ${', () => {
    expect(textsOf(`${YAML}instance: "$\${NAME}"\n`)).toContain('instance: expected a name');
  });

  it('lets no value of the environment add keys', () => {
    const text = textsOf(`${YAML}instance: \${NAME}\n`, { ...env, NAME: 'x\nadmin: { address: 0.0.0.0 }' });
    expect(text).toContain('dsbc.yaml:12: instance: expected a name');
  });

  it('names a variable that is not set, with its line', () => {
    expect(textsOf(YAML, {})).toBe(
      'dsbc.yaml:7: sip_servers[0].control.secret: expected the environment variable DRACHTIO_SECRET to be set; found nothing',
    );
  });

  it('refuses a reference that has no end', () => {
    expect(textsOf(`${YAML}instance: "\${NAME"\n`)).toBe(
      'dsbc.yaml:12: instance: expected a reference such as ${NAME} or ${NAME:-default}; found ${NAME',
    );
  });

  it('shows the reference, not the value, of a wrong value from the environment', () => {
    const text = textsOf(`${YAML}mtu: \${MTU}\n`, { ...env, MTU: 'my password by mistake' });
    expect(text).toBe('dsbc.yaml:12: mtu: expected a number; found ${MTU}');
  });

  it('gives file and line of an unknown key, a wrong value and a missing one', () => {
    const text = textsOf(YAML.replace('name: main', 'nam: main').replace('port: 5060', 'port: 0'));
    expect(text).toContain('dsbc.yaml:4: sip_servers[0].name: expected text; found nothing');
    expect(text).toContain('dsbc.yaml:4: sip_servers[0].nam: expected one of the keys name, server, entry');
    expect(text).toContain('did you mean "name"?');
    expect(text).toContain(
      'dsbc.yaml:6: sip_servers[0].entry.port: expected a number from 1 to 65535; found 0',
    );
  });

  it.each([
    ['a tab in the indentation', 'a:\n\tb: 1\n', 'dsbc.yaml:2: expected YAML; found'],
    [
      'aliases that unfold without end',
      `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 8 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`).join(', ')}]`).join('\n')}\n`,
      'dsbc.yaml: expected at most 100 uses of anchors, nested ones counted as often as they unfold; found more',
    ],
    [
      'a key twice',
      'mtu: 1300\nmtu: 1400\n',
      'dsbc.yaml:2: mtu: expected each key once; found mtu a second time',
    ],
    [
      'a quoted key twice',
      'a:\n  "b c": 1\n  "b c": 2\n',
      'dsbc.yaml:3: a["b c"]: expected each key once; found b c a second time',
    ],
    [
      'an alias without its anchor',
      'mtu: 1300\ninstance: *name\n',
      'dsbc.yaml:2: instance: expected an anchor &name further up; found *name without one',
    ],
    [
      'several documents',
      'mtu: 1300\n---\nmtu: 1400\n',
      'dsbc.yaml:2: expected one YAML document; found another one, which begins with ---',
    ],
    [
      'a merge key',
      'a: &a { port: 1 }\nadmin:\n  <<: *a\n',
      'dsbc.yaml:3: admin["<<"]: expected the keys themselves, or an alias of a whole value (key: *anchor); found the merge key <<',
    ],
    [
      'a tag that is not known',
      'peers:\n  - name: !vault x\n',
      'dsbc.yaml:2: peers[0].name: expected a value without a tag; found !vault',
    ],
    [
      'a tag for what JSON does not have',
      'admin: !!binary aGk=\n',
      'dsbc.yaml:1: admin: expected a value without a tag; found tag:yaml.org,2002:binary',
    ],
    [
      'a reference without quotes inside braces',
      'admin: { port: ${PORT} }\n',
      'dsbc.yaml:1: expected YAML with "${NAME}" in quotes inside { } and [ ]; found',
    ],
    ['an empty file', '# nothing\n', 'dsbc.yaml: expected a configuration; found an empty file'],
    ['a list', '- 1\n', 'expected a map of keys; found the list [1]'],
  ])('refuses %s', (_name, text, expected) => {
    expect(textsOf(text)).toContain(expected);
  });

  it('takes an alias of a value, from the environment, too, and the tags of JSON', () => {
    const config = valueOf(
      `${YAML}mtu: &most "\${MOST:-1400}"\nlimits: { max_in_flight: *most }\ndrain_ms: !!int 7\n`,
    );
    expect([config.mtu, config.limits.max_in_flight, config.drain_ms]).toEqual([1400, 1400, 7]);
  });

  it('reads paths relative to the file', () => {
    const config = valueOf(`${YAML}registry: { driver: lmdb, path: data/registry.lmdb }\n`);
    expect(config.registry.driver === 'lmdb' && config.registry.path).toBe('/etc/dsbc/data/registry.lmdb');
  });
});

describe('loadConfig', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dsbc-config-'));
  });
  afterAll(() => rm(dir, { recursive: true }));

  it('reads a file', async () => {
    await writeFile(join(dir, 'ok.yaml'), YAML);
    await expect(loadConfig(join(dir, 'ok.yaml'), env)).resolves.toMatchObject({ domains: ['example.com'] });
  });

  it('says that a file is not there', async () => {
    await expect(loadConfig(join(dir, 'none.yaml'), env)).rejects.toMatchObject({
      code: 'DSBC_CONFIG_UNREADABLE',
    });
  });

  it('reads a file of up to 1 MiB and no larger one, whatever says how large it is', async () => {
    const file = join(dir, 'large.yaml');
    await writeFile(file, YAML + '#'.repeat(MAX_CONFIG_BYTES - YAML.length));
    await expect(loadConfig(file, env)).resolves.toMatchObject({ domains: ['example.com'] });
    await appendFile(file, '#');
    for (const large of [file, '/dev/zero'])
      await expect(loadConfig(large, env)).rejects.toMatchObject({
        code: 'DSBC_CONFIG_UNREADABLE',
        message: 'the configuration file cannot be read: it is larger than 1048576 bytes',
      });
  });

  it('shows every problem with file and line in its message', async () => {
    const file = join(dir, 'bad.yaml');
    await writeFile(file, `${YAML}mtu: 1\ndrain_ms: -1\n`);
    const error = await loadConfig(file, env).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(DsbcError);
    expect((error as DsbcError).message).toContain(
      `${file}:12: mtu: expected a number from 576 to 65507; found 1`,
    );
    expect((error as DsbcError).message).toContain(`${file}:13: drain_ms:`);
  });
});
