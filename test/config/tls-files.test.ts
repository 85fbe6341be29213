import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTlsFiles } from '../../plugin/config/tls-files';
import { createDsbc } from '../../plugin/main';
import { smallConfig } from '../fixtures/config';
import { tlsIdentity } from '../fixtures/tls-identity';

describe('readTlsFiles', () => {
  const dir = mkdtempSync(join(tmpdir(), 'dsbc-tls-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  const file = (name: string, text: string | Buffer): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cert = file('cert.pem', tlsIdentity.cert);
  const key = file('key.pem', tlsIdentity.key);
  const none = join(dir, 'none.pem');
  const locked = privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' });

  it('reads a certificate with its chain, its key and a CA', () => {
    const chain = file('chain.pem', `a comment\n${tlsIdentity.cert}\n${tlsIdentity.cert}`);
    const { ca, cert: read } = readTlsFiles(['admin'], { ca_file: cert, cert_file: chain, key_file: key });
    expect(ca?.toString()).toBe(tlsIdentity.cert);
    expect(read?.toString()).toContain('a comment');
  });

  it.each([
    [
      'a file that is not there',
      { cert_file: none },
      'admin.cert_file: expected a file that can be read; found ENOENT',
    ],
    [
      'a certificate that is none',
      { cert_file: key },
      'admin.cert_file: expected a certificate in PEM; found ',
    ],
    ['a CA that is none', { ca_file: key }, 'admin.ca_file: expected certificates in PEM; found '],
    [
      'a chain that is broken',
      { cert_file: file('broken.pem', `${tlsIdentity.cert}-----BEGIN CERTIFICATE-----\nMIIB\n`) },
      'admin.cert_file: expected a certificate in PEM; found ',
    ],
    [
      'a key that is none',
      { key_file: cert },
      'admin.key_file: expected a private key in PEM, without a passphrase',
    ],
    [
      'a key under a passphrase',
      { key_file: file('locked.pem', locked) },
      'admin.key_file: expected a private key',
    ],
    [
      'the key of another certificate',
      { cert_file: cert, key_file: file('other.pem', privateKey.export({ type: 'sec1', format: 'pem' })) },
      `admin.key_file: expected the key of the certificate in cert_file; found another one in ${dir}/other.pem`,
    ],
  ])('refuses %s', (_, files, text) => {
    expect(() => readTlsFiles(['admin'], files)).toThrow(
      expect.objectContaining({
        code: 'DSBC_CONFIG_INVALID',
        message: expect.stringContaining(text) as string,
      }),
    );
  });

  it('is asked for the CA of the LogServer before anything starts', () => {
    const syslog = { host: '127.0.0.1', protocol: 'tls' as const, ca_file: none };
    expect(() => createDsbc({ config: { ...smallConfig(), log: { syslog } } })).toThrow(
      expect.objectContaining({
        code: 'DSBC_CONFIG_INVALID',
        message: expect.stringContaining('log.syslog.ca_file: expected a file that can be read') as string,
      }),
    );
  });
});
