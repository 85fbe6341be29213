import { parseConfig } from '../../plugin/config/config';
import type { SipLink } from '../../plugin/link/sip-link';
import { SipServers } from '../../plugin/servers/sip-servers';
import { silentLogger } from '../../plugin/telemetry/logger';
import { labConfig } from '../fixtures/pipeline';

describe('a SIP server that is not reached', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is told of with the reason and the address that is tried, which an application may have given', async () => {
    jest.useFakeTimers();
    const lines: object[] = [];
    const config = parseConfig({
      ...labConfig(),
      sip_servers: [
        {
          name: 'main',
          server: 'drachtio',
          entry: { address: '127.0.0.1' },
          control: { port: 9022, secret: 'cymru' },
        },
      ],
    });
    const servers = new SipServers({
      config,
      tokens: () => {
        throw new Error('no tokens here');
      },
      log: { ...silentLogger, error: (fields, msg) => lines.push({ ...fields, msg }) },
      tallies: { note: () => undefined },
    });
    const link: Partial<SipLink> = {
      name: 'main',
      state: 'connecting',
      control: '127.0.0.1:9099',
      trouble: 'connect ECONNREFUSED 127.0.0.1:9099',
      onState: () => undefined,
    };
    const reached = servers.reach(link as SipLink);
    await jest.advanceTimersByTimeAsync(5000);
    await reached;
    expect(lines).toEqual([
      {
        server: 'main',
        control: '127.0.0.1:9099',
        reason: 'connect ECONNREFUSED 127.0.0.1:9099',
        msg: 'SIP server not reached yet; trying on',
      },
    ]);
  });
});
