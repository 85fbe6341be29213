import { serverName } from '../../plugin/link/capabilities';
import { untilConnected } from '../../plugin/link/create-link';
import { ControlServer } from '../fixtures/control-server';
import { tlsIdentity } from '../fixtures/tls-identity';
import { FAST, Scripted } from './scripted';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('the connection to a SIP server', () => {
  let lab: Scripted;
  beforeEach(async () => {
    lab = await Scripted.start();
  });
  afterEach(() => lab.stop());

  it('asks for its verbs and knows what the server listens on', async () => {
    const link = await lab.open();
    await pause(50);
    const routes = lab.server.commands.filter((command) => command.verb === 'route');
    expect(routes.map((one) => one.tokens[0])).toEqual(
      expect.arrayContaining(['invite', 'register', 'subscribe', 'message', 'options']),
    );
    expect(link.addresses).toEqual([
      { transport: 'udp', address: '127.0.0.1', port: 5060 },
      { transport: 'tcp', address: '127.0.0.1', port: 5060 },
    ]);
  });

  it('takes a server for a drachtio-server unless it tells its capabilities', async () => {
    await lab.open();
    expect(lab.link.capabilities.failoverByStatus).toBe(false);
    await lab.link.close();
    lab.server.greeting.push('dsbc-embedded;caps=failover_by_status,exact_headers,something_new');
    await lab.open();
    expect(lab.link.capabilities).toMatchObject({
      failoverByStatus: true,
      exactHeaders: true,
      dropRequests: false,
    });
    expect(serverName('v0.9.10-1-g9c2dd4cb6a')).toBe('v0.9.10-1-g9c2dd4cb6a');
    expect(serverName('v0.9.10', 'dsbc-embedded;caps=drop')).toBe('embedded (protocol of v0.9.10)');
  });

  it.each([
    ['an unknown type', '6#a|bb|c'],
    ['a length that is no number', 'abc#'],
    ['a length of zero', '0#'],
  ])('is reset by a frame with %s and soon up again', async (_name, bytes) => {
    await lab.open();
    const lost = lab.untilState('lost');
    lab.server.sendBytes(bytes);
    await lost;
    await untilConnected(lab.link, 2000);
  });

  describe('says why there is none', () => {
    const untilTrouble = async (text: string): Promise<void> => {
      const end = Date.now() + 3000;
      while (!(lab.link.trouble ?? '').includes(text)) {
        if (Date.now() > end) throw new Error(`trouble: ${lab.link.trouble}`);
        await pause(5);
      }
    };

    it('when nobody listens, and forgets it when it is up', async () => {
      const { port } = lab.server;
      await lab.server.close();
      lab.connect({ port });
      expect(lab.link.control).toBe(`127.0.0.1:${port}`);
      await untilTrouble(`connect ECONNREFUSED 127.0.0.1:${port}`);
      lab.server = await ControlServer.listen(undefined, port);
      await untilConnected(lab.link, 2000);
      expect(lab.link.trouble).toBeUndefined();
    });

    it('when the secret is wrong', async () => {
      lab.server.acceptsSecret = false;
      lab.connect({ secretName: 'sip_servers[0].control.secret' });
      await untilTrouble('it refused the secret (sip_servers[0].control.secret)');
      await pause(50);
      expect(lab.link.trouble).toContain('it refused the secret');
    });

    it('when the server hangs, or ends the connection', async () => {
      await lab.open();
      lab.server.answersPings = false;
      await untilTrouble('no answer to a ping');
      lab.server.answersPings = true;
      await untilConnected(lab.link, 2000);
      for (const socket of lab.server.sockets) socket.end();
      await untilTrouble('the SIP server ended the connection');
    });
  });

  it('is lost when a ping is not answered in time', async () => {
    await lab.open();
    const lost = lab.untilState('lost');
    lab.server.answersPings = false;
    await lost;
    lab.server.answersPings = true;
    await untilConnected(lab.link, 2000);
  });

  it('is not lost when this process was frozen while the pong came', async () => {
    await lab.open();
    const states: string[] = [];
    lab.link.onState((state) => states.push(state));
    lab.server.answersPings = false;
    for (let round = 0; round < 3; round++) {
      const ping = await lab.server.next((command) => command.verb === 'ping');
      lab.server.reply(ping, 'OK|pong');
      // Blocks the whole process.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * FAST.pingTimeoutMs);
    }
    lab.server.answersPings = true;
    await pause(2 * FAST.pingTimeoutMs);
    expect(states).toEqual([]);
  });

  it('is tried again without end, with a pause that never grows over its bound', async () => {
    await lab.open();
    const { port } = lab.server;
    await lab.server.close();
    await pause(1500);
    lab.server = await ControlServer.listen(undefined, port);
    const start = performance.now();
    await untilConnected(lab.link, 1000);
    expect(performance.now() - start).toBeLessThan(10 * FAST.maxReconnectDelayMs);
  });

  it('asks for its verbs again after a reconnection', async () => {
    await lab.open();
    lab.server.commands.length = 0;
    lab.server.dropConnections();
    await lab.server.next((command) => command.verb === 'route' && command.tokens[0] === 'register');
  });

  it('keeps trying when the secret is refused, without a storm', async () => {
    lab.server.acceptsSecret = false;
    const link = lab.connect();
    await pause(500);
    const tries = lab.server.commands.filter((command) => command.verb === 'authenticate').length;
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(25);
    lab.server.acceptsSecret = true;
    await untilConnected(link, 2000);
  });

  it('is given up when the server accepts it and then says nothing', async () => {
    jest.spyOn(lab.server, 'reply').mockImplementation(() => undefined);
    lab.connect();
    await lab.server.next((command) => command.verb === 'authenticate');
    await lab.server.next((command) => command.verb === 'authenticate');
  });

  it('stays TLS when it is made again', async () => {
    await lab.server.close();
    lab.server = await ControlServer.listen(tlsIdentity);
    await lab.open({ tls: { ca: tlsIdentity.cert } });
    lab.server.dropConnections();
    await lab.untilState('lost');
    await untilConnected(lab.link, 2000);
  });

  it('closes once and for all, and twice is fine', async () => {
    const link = await lab.open();
    await link.close();
    await link.close();
    expect(link.state).toBe('closed');
    await pause(100);
    expect(lab.server.sockets.size).toBe(0);
  });

  it('says in time that there is none', async () => {
    await lab.server.close();
    const link = lab.connect();
    await expect(untilConnected(link, 100)).rejects.toMatchObject({ code: 'DSBC_LINK_TIMEOUT' });
  });
});
