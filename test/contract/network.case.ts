import type { HeldAddress, VipAddress } from '../../plugin/ha/ports';
import { layCable, type Cable } from '../fixtures/namespaces';
import { NetworkAgent } from '../fixtures/network-agent';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const V4: VipAddress = { address: '10.9.0.100', family: 4, interface: 'wire0' };
const V6: VipAddress = { address: 'fd09::100', family: 6, interface: 'wire0' };
const aliases = (count: number): VipAddress[] =>
  Array.from({ length: count }, (_, index) => ({ ...V4, address: `10.9.1.${index + 1}` }));

export interface NetworkCase {
  /** Path from the project's root. */
  readonly module: string;
  readonly name: string;
  readonly hearsForeignArp: boolean;
}

/** What every implementation of the network part must do, tried in namespaces of its own. */
export function networkContract({ module, name, hearsForeignArp }: NetworkCase): void {
  describe(`the network part, ${name}`, () => {
    let cable: Cable;
    let agent: NetworkAgent;
    const held = async (): Promise<string[]> => {
      const list = await agent.call<HeldAddress[]>('list', 'wire0');
      return list.map((found) => `${found.address}/${found.prefix}`);
    };
    beforeEach(async () => {
      cable = layCable();
      agent = await NetworkAgent.start(cable.near, module);
    });
    afterEach(async () => {
      await agent.stop();
      NetworkAgent.endAll();
      cable.remove();
    });

    it('lists every address of an interface with prefix and lifetime', async () => {
      const list = await agent.call<HeldAddress[]>('list', 'wire0');
      expect(list).toContainEqual({
        address: '10.9.0.1',
        family: 4,
        interface: 'wire0',
        prefix: 24,
        validS: 'Infinity',
      });
      expect(list).toContainEqual(expect.objectContaining({ address: 'fd09::1', family: 6, prefix: 64 }));
    });

    it('adds IPv4 as /32 and IPv6 as /128 without duplicate address detection, and removes them', async () => {
      await agent.call('add', [V4, V6], 60);
      const list = await agent.call<HeldAddress[]>('list', 'wire0');
      for (const vip of [V4, V6]) {
        const found = list.find(({ address }) => address === vip.address);
        expect(found?.prefix).toBe(vip.family === 4 ? 32 : 128);
        expect(found?.validS).toBeGreaterThan(50);
        expect(found?.validS).toBeLessThanOrEqual(60);
      }
      const shown = cable.run(cable.near, 'ip', '-6', 'address', 'show', 'dev', 'wire0');
      expect(/fd09::100\/128[^\n]*/.exec(shown)?.[0]).not.toContain('tentative');
      await agent.call('remove', [V4, V6]);
      expect((await held()).filter((text) => text.includes('100'))).toEqual([]);
    });

    it('keeps a renewed lease of one second, and the kernel ends one that nobody renews', async () => {
      await agent.call('prepare', [V4, V6], 1);
      await agent.call('add', [V4, V6], 1);
      for (let beat = 0; beat < 5; beat++) {
        await pause(400);
        await agent.call('renew', [V4, V6], 1);
      }
      expect(await held()).toEqual(expect.arrayContaining(['10.9.0.100/32', 'fd09::100/128']));
      await pause(1100);
      expect((await held()).filter((text) => text.includes('100'))).toEqual([]);
    });

    it('ends a lease that was never renewed on time as well, once it is prepared', async () => {
      await agent.call('prepare', [V4, V6], 1);
      await pause(400);
      await agent.call('add', [V4, V6], 1);
      await pause(1100);
      expect((await held()).filter((text) => text.includes('100'))).toEqual([]);
      // What paces it is on the loopback, reachable from nowhere else, and not worth a source address.
      const paced = cable.run(cable.near, 'ip', '-oneline', 'address', 'show', 'dev', 'lo');
      expect(paced).toMatch(/inet 127\.85\.\S+ scope host/);
      expect(paced).toMatch(/inet6 fe80::d5bc:\S+ scope link/);
    });

    it('does not bring back an address that is gone: renewing it is ENOENT, and the others are renewed', async () => {
      const [first, second] = [aliases(2)[0]!, aliases(2)[1]!];
      await agent.call('add', [first, second], 60);
      cable.run(cable.near, 'ip', 'address', 'del', `${first.address}/32`, 'dev', 'wire0');
      await expect(agent.call('renew', [first, second], 90)).rejects.toMatchObject({
        code: 'DSBC_NETWORK_FAILED',
        details: { operation: 'renew', errno: 'ENOENT', address: first.address },
      });
      const list = await agent.call<HeldAddress[]>('list', 'wire0');
      expect(list.find(({ address }) => address === second.address)?.validS).toBeGreaterThan(60);
      expect(list.find(({ address }) => address === first.address)).toBeUndefined();
    });

    it('takes an address that is already there, and removing one that is gone is no failure', async () => {
      await agent.call('add', [V4], 1);
      await agent.call('add', [V4], 60);
      const list = await agent.call<HeldAddress[]>('list', 'wire0');
      expect(list.find(({ address }) => address === V4.address)?.validS).toBeGreaterThan(50);
      await agent.call('remove', [V4]);
      await agent.call('remove', [V4]);
    });

    it('an interface that is gone has no address: removing it is no failure, and the others are removed', async () => {
      const gone = { ...V4, interface: 'nowhere0' };
      await agent.call('add', [V4], 60);
      await agent.call('deafen', [gone, V4]);
      await agent.call('remove', [gone, V4]);
      expect(await held()).not.toContain('10.9.0.100/32');
    });

    it('deafens: nothing is received, what is sent goes out; anew, it hears again', async () => {
      const local = (vip: VipAddress): string =>
        cable.run(cable.near, 'ip', `-${vip.family}`, 'route', 'show', 'table', 'local', vip.address);
      await agent.call('add', [V4, V6], 60);
      for (const vip of [V4, V6]) expect(local(vip)).toContain(vip.address);
      await agent.call('deafen', [V4, V6]);
      await agent.call('deafen', [V4, V6]);
      for (const vip of [V4, V6]) expect(local(vip)).toBe('');
      expect(await held()).toEqual(expect.arrayContaining(['10.9.0.100/32', 'fd09::100/128']));
      expect(cable.run(cable.near, 'ip', 'route', 'get', '10.9.0.2', 'from', V4.address)).toContain('wire0');
      expect(() => cable.run(cable.far, 'arping', '-c1', '-w1', '-I', 'wire0', V4.address)).toThrow();
      await agent.call('remove', [V4, V6]);
      await agent.call('add', [V4, V6], 60);
      for (const vip of [V4, V6]) expect(local(vip)).toContain(vip.address);
      cable.run(cable.far, 'arping', '-c1', '-w1', '-I', 'wire0', V4.address);
    });

    it('leaves the other addresses alone when one is removed', async () => {
      const [first, ...rest] = aliases(4);
      await agent.call('add', [first, ...rest], 60);
      await agent.call('remove', [first]);
      expect(await held()).toEqual(expect.arrayContaining(rest.map(({ address }) => `${address}/32`)));
    });

    it('says what was tried when an interface does not exist', async () => {
      const nowhere = { ...V4, interface: 'nowhere0' };
      for (const [method, ...args] of [['add', [nowhere], 1] as const, ['list', 'nowhere0'] as const]) {
        await expect(agent.call(method, ...args)).rejects.toMatchObject({
          code: 'DSBC_NETWORK_FAILED',
          details: { errno: 'ENODEV', interface: 'nowhere0' },
        });
      }
    });

    it('knows whether links are up and have carrier', async () => {
      expect(await agent.call('links', ['wire0', 'nowhere0'])).toEqual([
        { interface: 'wire0', up: true, carrier: true },
        { interface: 'nowhere0', up: false, carrier: false },
      ]);
      cable.run(cable.far, 'ip', 'link', 'set', 'wire0', 'down');
      expect(await agent.call('links', ['wire0'])).toEqual([
        { interface: 'wire0', up: true, carrier: false },
      ]);
    });

    it('reports carrier and address changes, in the spelling it was asked for, and no renewals', async () => {
      const spelled = { ...V6, address: 'FD09:0::0100' };
      await agent.call('watch', ['wire0'], [V4, spelled]);
      await pause(300);
      await agent.call('add', [V4, spelled], 60);
      await agent.event((event) => event.type === 'address' && event.address === spelled.address);
      await agent.event((event) => event.type === 'address' && event.address === V4.address);
      await agent.call('renew', [V4, spelled], 60);
      await agent.call('remove', [V4]);
      await agent.event((event) => event.type === 'address' && event.action === 'removed');
      cable.run(cable.far, 'ip', 'link', 'set', 'wire0', 'down');
      await agent.event((event) => event.type === 'link' && !event.link.carrier);
      cable.run(cable.far, 'ip', 'link', 'set', 'wire0', 'up');
      await agent.event((event) => event.type === 'link' && event.link.carrier);
      const addresses = agent.events.flatMap((event) =>
        event.type === 'address' ? `${event.action} ${event.address}` : [],
      );
      expect(addresses.sort()).toEqual(
        [`added ${V4.address}`, `added ${spelled.address}`, `removed ${V4.address}`].sort(),
      );
    });

    it('reports a watched address that somebody adds with another prefix, and does not take it for ours', async () => {
      const shadowed = (address: string): number =>
        agent.events.filter(
          (event) => event.type === 'address' && event.action === 'shadowed' && event.address === address,
        ).length;
      await agent.call('watch', ['wire0'], [V4, V6]);
      await pause(300);
      // Ours is there as well; of IPv6 an interface has one address once only.
      await agent.call('add', [V4], 60);
      for (const [{ address }, prefix] of [
        [V4, 24],
        [V6, 64],
      ] as const) {
        for (const [index, action] of ['add', 'del'].entries()) {
          cable.run(cable.near, 'ip', 'address', action, `${address}/${prefix}`, 'dev', 'wire0');
          await agent.event(() => shadowed(address) === index + 1);
        }
      }
      expect(await held()).toContain(`${V4.address}/32`);
      expect(agent.events.filter((event) => event.type === 'address' && event.action === 'removed')).toEqual(
        [],
      );
    });

    it('reports an address that the kernel removed at the end of its lease', async () => {
      await agent.call('watch', ['wire0'], [V4]);
      await agent.call('add', [V4], 1);
      await agent.event((event) => event.type === 'address' && event.action === 'removed');
    });

    it("moves a neighbour's ARP entry on the request form alone and on the reply form alone", async () => {
      await agent.call('add', [V4], 60);
      for (const dropped of ['request', 'reply']) {
        cable.run(
          cable.far,
          'nft',
          'add table arp t; add chain arp t i { type filter hook input priority 0; }',
        );
        cable.run(cable.far, 'nft', `add rule arp t i arp operation ${dropped} drop`);
        cable.run(
          cable.far,
          'ip',
          'neigh',
          'replace',
          V4.address,
          'lladdr',
          '02:00:00:00:00:99',
          'dev',
          'wire0',
          'nud',
          'stale',
        );
        await agent.call('announce', [V4]);
        const entry = cable.run(cable.far, 'ip', 'neigh', 'show', V4.address);
        expect(entry).toContain(cable.hardware(cable.near));
        cable.run(cable.far, 'nft', 'delete table arp t');
      }
    });

    it("moves a neighbour's IPv6 entry (override flag and link-layer option)", async () => {
      await agent.call('add', [V6], 60);
      cable.run(
        cable.far,
        'ip',
        'neigh',
        'replace',
        V6.address,
        'lladdr',
        '02:00:00:00:00:99',
        'dev',
        'wire0',
        'nud',
        'stale',
      );
      await agent.call('announce', [V6]);
      expect(cable.run(cable.far, 'ip', 'neigh', 'show', V6.address)).toContain(cable.hardware(cable.near));
    });

    it('refuses to announce on an interface that is down', async () => {
      cable.run(cable.near, 'ip', 'link', 'set', 'wire0', 'down');
      await expect(agent.call('announce', [V4])).rejects.toMatchObject({ code: 'DSBC_NETWORK_FAILED' });
    });

    it(`${hearsForeignArp ? 'hears' : 'does not promise to hear'} a neighbour that claims a watched address, and not itself`, async () => {
      expect(agent.hearsForeignArp).toBe(hearsForeignArp);
      if (!hearsForeignArp) return;
      const other = await NetworkAgent.start(cable.far, module);
      await agent.call('watch', ['wire0'], [V4, V6]);
      await agent.call('add', [V4, V6], 60);
      await agent.call('announce', [V4, V6]);
      await other.call('announce', [V4, V6, { ...V4, address: '10.9.0.77' }]);
      const claimed = (address: string): Promise<unknown> =>
        agent.event((event) => event.type === 'foreign-arp' && event.address === address);
      expect(await claimed(V4.address)).toMatchObject({
        hardware: cable.hardware(cable.far),
        interface: 'wire0',
      });
      expect(await claimed(V6.address)).toMatchObject({ hardware: cable.hardware(cable.far) });
      await other.stop();
      const claims = agent.events.flatMap((event) => (event.type === 'foreign-arp' ? [event] : []));
      expect(new Set(claims.map((event) => event.hardware))).toEqual(new Set([cable.hardware(cable.far)]));
      expect(new Set(claims.map((event) => event.address))).toEqual(new Set([V4.address, V6.address]));
    });

    it('has a boot clock that goes on and agrees with the kernel', async () => {
      const first = await agent.call<number>('bootTime');
      const uptimeMs = Number(cable.run(cable.near, 'cat', '/proc/uptime').split(' ')[0]) * 1000;
      const second = await agent.call<number>('bootTime');
      expect(first).toBeLessThanOrEqual(uptimeMs + 30);
      expect(second).toBeGreaterThanOrEqual(uptimeMs - 30);
      expect(second).toBeGreaterThanOrEqual(first);
    });

    it('loses its leased address when the process is killed', async () => {
      await agent.call('add', [V4], 1);
      await agent.call('keep', [V4], 1);
      await pause(1500);
      const isThere = (): boolean =>
        cable.run(cable.near, 'ip', 'address', 'show', 'dev', 'wire0').includes(V4.address);
      expect(isThere()).toBe(true);
      await agent.kill();
      await pause(1100);
      expect(isThere()).toBe(false);
    });

    it('loses them at once where it was prepared, and only what it had', async () => {
      const [given, kept] = [V4, V6];
      await agent.call('prepare', [given, kept], 1);
      await agent.call('add', [given, kept], 30);
      await agent.call('remove', [kept]);
      // Somebody else's: that it could have had it once does not count.
      cable.run(cable.near, 'ip', 'address', 'add', `${kept.address}/128`, 'dev', kept.interface, 'nodad');
      const there = (): boolean[] =>
        [given, kept].map(({ address }) =>
          cable.run(cable.near, 'ip', 'address', 'show', 'dev', 'wire0').includes(`${address}/`),
        );
      expect(there()).toEqual([true, true]);
      await agent.kill();
      const killed = performance.now();
      while (there()[0] === true && performance.now() - killed < 5000) await pause(10);
      expect(there()).toEqual([false, true]);
    });
  });
}
