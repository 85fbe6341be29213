import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../../plugin/config/config';
import { initialiseRegistry, openRegistry } from '../../../plugin/registry/open';
import { removeFolder, startCassandra } from '../../fixtures/cassandra/server';
import type { CassandraServer } from '../../fixtures/cassandra/server';
import { smallConfig } from '../../fixtures/config';
import { describeWith } from '../../fixtures/needs';
import { tlsIdentity } from '../../fixtures/tls-identity';

describeWith(['cassandra'], 'Cassandra that wants a password, TLS and a certificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-secure-'));
  const certificate = join(folder, 'cert.pem');
  const key = join(folder, 'key.pem');
  let server: CassandraServer;
  const login = { username: 'cassandra', password: 'cassandra' };
  const wrong = { username: 'cassandra', password: 'wrong' };
  const own = { cert_file: certificate, key_file: key };
  const mutual = { ...own, ca_file: certificate };

  /** The registry section of a configuration with this in it, as the program reads it. */
  const section = (more: object) =>
    parseConfig({
      ...smallConfig(),
      registry: {
        driver: 'cassandra',
        contact_points: [`127.0.0.1:${server.port}`],
        local_datacenter: 'datacenter1',
        replication: { datacenter1: 1 },
        ...more,
      },
    }).registry;

  const opened = async (more: object): Promise<'opened'> => {
    const registry = await openRegistry(section(more), { mustConnect: true });
    await registry.close();
    return 'opened';
  };

  beforeAll(async () => {
    writeFileSync(certificate, tlsIdentity.cert);
    writeFileSync(key, tlsIdentity.key);
    server = await startCassandra({ folder, password: true, tls: tlsIdentity });
    // Its first user is made a moment after it takes connections.
    for (const end = Date.now() + 60_000; ;) {
      try {
        await initialiseRegistry(section({ ...login, tls: mutual }));
        return;
      } catch (error) {
        if (Date.now() > end) throw error;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  }, 240_000);
  afterAll(async () => {
    await server.stop();
    removeFolder(folder);
  }, 30_000);

  it('serves who has all three', async () => {
    const registry = await openRegistry(section({ ...login, tls: mutual }), { mustConnect: true });
    await registry.put({ kind: 'account', value: '1001', system: 'source' });
    expect((await registry.lookup({ kind: 'account', value: '1001' }))?.system).toBe('source');
    await registry.close();
  });

  it('serves who trusts any certificate, if the configuration says so', async () => {
    const unverified = { ...own, verify: false };
    expect(await opened({ ...login, tls: unverified })).toBe('opened');
  });

  it.each([
    ['with a wrong password', { ...wrong, tls: mutual }, /password are incorrect/],
    ['without a password', { tls: mutual }, /requires authentication/],
    ['without TLS', login, /ECONNRESET|EPIPE|closed/],
    [
      'without our certificate',
      { ...login, tls: { ca_file: certificate } },
      /certificate required|ECONNRESET|EPIPE/,
    ],
    ['when its certificate is not trusted', { ...login, tls: own }, /self-signed certificate/],
  ])(
    'is not used %s, and the error says why in one line',
    async (_, given, reason) => {
      const error = (await opened(given).catch((thrown: unknown) => thrown)) as Error;
      expect(error).toMatchObject({
        code: 'DSBC_REGISTRY_UNAVAILABLE',
        message: expect.stringMatching(reason),
      });
      expect(error.message).not.toContain('\n');
    },
    30_000,
  );
});
