import Ajv from 'ajv/dist/2020';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { EXAMPLES_DIR } from '../fixtures/examples';

const schema = JSON.parse(readFileSync(join(EXAMPLES_DIR, 'dsbc.schema.json'), 'utf8')) as object;
const validate = new Ajv({ allErrors: true, strict: false }).compile(schema);
const faultsOf = (text: string): string[] => {
  validate(parse(text));
  return (validate.errors ?? []).map(({ instancePath, message = '' }) => `${instancePath} ${message}`);
};

const files = readdirSync(EXAMPLES_DIR, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml') && !file.endsWith('compose.yaml'))
  .sort();

describe('the schema for editors', () => {
  it.each(files)('has nothing to say against %s', (file) => {
    expect(faultsOf(readFileSync(join(EXAMPLES_DIR, file), 'utf8'))).toEqual([]);
  });

  it('takes a reference wherever a value stands', () => {
    const text = `
instance: \${NAME}
domains: ['\${DOMAIN}']
mtu: \${MTU:-1300}
native: \${NATIVE}
sip_servers:
  - { name: main, server: '\${SERVER}', entry: { address: '\${VIP}', port: '\${PORT}' } }
systems:
  s: { load_distribution: { main: '\${SHARE}' }, sites: { main: { nodes: [{ uri: 'sip:\${NODE}', tcp: '\${TCP}' }] } } }
registry: { driver: '\${DRIVER}', path: x }
nat: { keys: [{ id: '\${ID}', secret: '\${KEY}' }] }
ha:
  { group: g, key: '\${HA_KEY}', listen: { m1: '\${M1}' }, peers: [{ instance: b, m1: '\${M2}' }],
    vips: [{ address: '\${VIP}', interface: '\${LINK}' }], preempt: { after_s: '\${AFTER}' } }
`;
    expect(faultsOf(text)).toEqual([]);
  });

  it('still marks unknown keys, wrong values and missing ones', () => {
    const text = readFileSync(join(EXAMPLES_DIR, 'embedded.yaml'), 'utf8');
    const faults = faultsOf(
      `${text.replace(/^(log|admin):.*$/gm, '')}\nmtuu: 1\nadmin: { port: high, token: short }\nlog: { level: loud, syslog: {} }\n`,
    );
    for (const place of [
      ' must NOT have additional',
      '/admin/port ',
      '/admin/token ',
      '/log/level ',
      '/log/syslog must have',
    ])
      expect(faults.filter((fault) => fault.startsWith(place))).not.toEqual([]);
  });
});
