import type { Host } from '../fixtures/lab/host';
import { Lab } from '../fixtures/lab/lab';
import { NAT_KINDS, type NatKind, type NatRouter } from '../fixtures/lab/nat-router';
import { Probe } from '../fixtures/lab/probe';
import { describeWith } from '../fixtures/needs';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

/** How long nothing may come before a test believes that nothing comes. */
const QUIET_MS = 150;
const pause = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

interface World {
  readonly router: NatRouter;
  readonly phoneHost: Host;
  readonly serverHost: Host;
  readonly phone: Probe;
  /** 203.0.113.1 port 5060. */
  readonly one: Probe;
  /** Another address. */
  readonly other: Probe;
  /** The first address, another port. */
  readonly samePlace: Probe;
}

describeWith(['netns'], 'a NAT router of the lab', () => {
  let lab: Lab;
  const probes: Probe[] = [];

  beforeEach(async () => {
    lab = await Lab.create();
  });

  afterEach(async () => {
    for (const each of probes.splice(0)) each.close();
    await lab.close();
  });

  const build = async (kind: NatKind, mappingSeconds = 60): Promise<World> => {
    const internet = await lab.network('internet');
    const home = await lab.network('home');
    const serverHost = await lab.host(`${kind}-server`);
    const phoneHost = await lab.host(`${kind}-phone`);
    await internet.attach(serverHost, { addresses: ['203.0.113.1/24', '203.0.113.2/24'] });
    await home.attach(phoneHost, { addresses: ['192.168.1.20/24'] });
    const router = await lab.natRouter(`${kind}-router`, {
      kind,
      outside: { network: internet, address: '203.0.113.254/24' },
      inside: { network: home, address: '192.168.1.1/24' },
      mappingSeconds,
    });
    await phoneHost.defaultRoute(router.insideAddress);
    const open = async (host: Host, address: string, port: number): Promise<Probe> => {
      const probe = await Probe.open(host, address, port);
      probes.push(probe);
      return probe;
    };
    return {
      router,
      phoneHost,
      serverHost,
      phone: await open(phoneHost, '192.168.1.20', 5060),
      one: await open(serverHost, '203.0.113.1', 5060),
      other: await open(serverHost, '203.0.113.2', 5060),
      samePlace: await open(serverHost, '203.0.113.1', 5070),
    };
  };

  it('full cone: one outside port for all destinations, and anybody may send to it', async () => {
    const { phone, one, other, samePlace } = await build('full_cone');
    phone.send('to one', '203.0.113.1 5060');
    const seen = await one.hears('to one');
    expect(seen).toMatch(/^203\.0\.113\.254 [2-5]\d{4}$/);

    other.send('from somebody else', seen!);
    expect(await phone.hears('from somebody else')).toBe('203.0.113.2 5060');
    // An answer leaves from the same outside port, though the other side began.
    phone.send('answer', '203.0.113.2 5060');
    expect(await other.hears('answer')).toBe(seen);
    samePlace.send('from another port', seen!);
    expect(await phone.hears('from another port')).toBe('203.0.113.1 5070');
  });

  it('port-restricted: one outside port for all destinations, and only who was sent to may answer', async () => {
    const { phone, one, other, samePlace } = await build('port_restricted');
    phone.send('to one', '203.0.113.1 5060');
    const seen = await one.hears('to one');
    expect(seen).toMatch(/^203\.0\.113\.254 [2-5]\d{4}$/);
    one.send('answer', seen!);
    expect(await phone.hears('answer')).toBe('203.0.113.1 5060');

    other.send('uninvited', seen!);
    samePlace.send('uninvited, same address', seen!);
    expect(await phone.hears('uninvited', QUIET_MS)).toBeUndefined();
    expect(await phone.hears('uninvited, same address', 0)).toBeUndefined();

    phone.send('to other', '203.0.113.2 5060');
    expect(await other.hears('to other')).toBe(seen);
    other.send('invited now', seen!);
    expect(await phone.hears('invited now')).toBe('203.0.113.2 5060');
  });

  it('symmetric: another outside port for every destination, and only that destination may answer', async () => {
    const { phone, one, other, samePlace } = await build('symmetric');
    phone.send('to one', '203.0.113.1 5060');
    phone.send('to other', '203.0.113.2 5060');
    phone.send('to same place', '203.0.113.1 5070');
    const seen = [
      await one.hears('to one'),
      await other.hears('to other'),
      await samePlace.hears('to same place'),
    ];
    expect(new Set(seen).size).toBe(3);
    for (const each of seen) expect(each).toMatch(/^203\.0\.113\.254 [2-5]\d{4}$/);

    other.send('uninvited', seen[0]!);
    expect(await phone.hears('uninvited', QUIET_MS)).toBeUndefined();
    one.send('answer', seen[0]!);
    expect(await phone.hears('answer')).toBe('203.0.113.1 5060');
    phone.send('again', '203.0.113.1 5060');
    expect(await one.hears('again')).toBe(seen[0]);
  });

  it('every kind: a mapping lives as long as there is traffic, and ends with it', async () => {
    const worlds = await Promise.all(NAT_KINDS.map((kind) => build(kind, 2)));
    for (const { phone, one } of worlds) {
      phone.send('first', '203.0.113.1 5060');
      expect(await one.hears('first')).toBeDefined();
    }
    // Three seconds in steps of one: longer than the two that a silent mapping has.
    for (let round = 1; round <= 3; round += 1) {
      await pause(1000);
      for (const { phone, one } of worlds) {
        const seen = (await one.hears('first'))!;
        one.send(`ping ${round}`, seen);
        expect(await phone.hears(`ping ${round}`)).toBe('203.0.113.1 5060');
        phone.send(`pong ${round}`, '203.0.113.1 5060');
        expect(await one.hears(`pong ${round}`)).toBe(seen);
      }
    }
    await pause(3000);
    for (const { one } of worlds) one.send('too late', (await one.hears('first'))!);
    for (const { phone } of worlds) expect(await phone.hears('too late', QUIET_MS)).toBeUndefined();
  });

  it('every kind: a new outside address ends every mapping', async () => {
    for (const { router, phone, one } of await Promise.all(NAT_KINDS.map((kind) => build(kind)))) {
      phone.send('before', '203.0.113.1 5060');
      const before = await one.hears('before');
      await router.renew('203.0.113.253/24');
      phone.send('after', '203.0.113.1 5060');
      const after = await one.hears('after');
      expect(after).toMatch(/^203\.0\.113\.253 /);
      one.send('to the old one', before!);
      expect(await phone.hears('to the old one', QUIET_MS)).toBeUndefined();
      one.send('to the new one', after!);
      expect(await phone.hears('to the new one')).toBe('203.0.113.1 5060');
    }
  });

  it('TCP: connections from the inside are translated, those from the outside are not taken', async () => {
    const { phoneHost, serverHost } = await build('full_cone');
    const server = await serverHost.listen('203.0.113.1', 5060);
    const seen = new Promise<string>((resolve) =>
      server.once('connection', (socket) => {
        resolve(`${socket.remoteAddress ?? ''} ${socket.remotePort ?? ''}`);
        socket.end();
      }),
    );
    const connection = await phoneHost.connect({ host: '203.0.113.1', port: 5060 });
    expect(await seen).toMatch(/^203\.0\.113\.254 [2-5]\d{4}$/);
    const port = Number((await seen).split(' ')[1]);
    const uninvited = serverHost.connect({ host: '203.0.113.254', port });
    const outcome = await Promise.race([
      uninvited.then(
        () => 'connected',
        () => 'refused',
      ),
      new Promise((resolve) => setTimeout(resolve, 500, 'no answer')),
    ]);
    expect(outcome).toBe('no answer');
    connection.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});
