import { join } from 'node:path';
import { builtPlugin, networkModule } from '../fixtures/ha/built';
import { Lab } from '../fixtures/lab/lab';
import { Probe } from '../fixtures/lab/probe';
import { describeWith } from '../fixtures/needs';

const ALIASES = ['198.51.100.10', '198.51.100.11', '198.51.100.12', '2001:db8:51::10', '2001:db8:51::11'];

describeWith(['netns'], 'H35: a VIP and its aliases in one network', () => {
  let lab: Lab;
  afterEach(() => lab.close());

  it.each([
    ['the addon, where it is built', networkModule(builtPlugin())],
    ['iproute2', join(builtPlugin(), 'network', 'iproute2-network.js')],
  ])('removing any one leaves the others, which go on answering: %s', async (_name, module) => {
    lab = await Lab.create();
    const service = await lab.network('service');
    const host = await lab.host('a');
    await service.attach(host, { addresses: ['198.51.100.1/24', '2001:db8:51::1/64'] });
    // The kernel's default: with the first address of a network go all others of it.
    await host.sysctl({
      'net.ipv4.conf.all.promote_secondaries': 0,
      'net.ipv4.conf.eth0.promote_secondaries': 0,
    });
    const client = await lab.host('client');
    await service.attach(client, { addresses: ['198.51.100.100/24', '2001:db8:51::100/64'] });
    const program = host.start(process.execPath, [
      join(__dirname, '../fixtures/ha/alias-process.cjs'),
      JSON.stringify({ module, interface: 'eth0', addresses: ALIASES }),
    ]);
    await program.waitFor(/ready/);

    const left = new Set(ALIASES);
    const check = async (): Promise<void> => {
      const held = (await host.addresses()).map(({ address, prefix }) => `${address}/${prefix}`);
      const wanted = [...left].map((address) => `${address}/${address.includes(':') ? 128 : 32}`);
      expect(held.sort()).toEqual([...wanted, '198.51.100.1/24', '2001:db8:51::1/64'].sort());
      for (const address of ALIASES) {
        const isSix = address.includes(':');
        const probe = await Probe.open(client, isSix ? '2001:db8:51::100' : '198.51.100.100', 5070);
        probe.send(`OPTIONS sip:${address} SIP/2.0\r\n\r\n`, `${address} 5060`);
        const answered = await probe.hears('SIP/2.0 200 OK\r\n\r\n', left.has(address) ? 3000 : 150);
        expect([address, answered !== undefined]).toEqual([address, left.has(address)]);
        probe.close();
      }
    };
    await check();
    // The first of the network, then one between, then the first of those that are left.
    for (const address of [ALIASES[0]!, ALIASES[3]!, ALIASES[1]!]) {
      program.write(`${JSON.stringify({ remove: address })}\n`);
      await program.waitFor(new RegExp(`removed ${address}\n`));
      left.delete(address);
      await check();
    }
  });
});
