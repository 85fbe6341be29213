import { NextHops, asSipUri, type NextHop, type Resolver } from '../../plugin/embedded/proxy/next-hop';
import { FakeClock } from './fake-clock';

describe('the next hop of a URI', () => {
  let asked: string[];
  let clock: FakeClock;
  let hops: NextHops;

  const resolver: Resolver = {
    addresses: (host) => {
      asked.push(`A ${host}`);
      if (host === 'gone.example.com') return Promise.reject(new Error('ENOTFOUND'));
      return Promise.resolve(host === 'sip1.example.com' ? ['192.0.2.1', '192.0.2.2'] : ['192.0.2.9']);
    },
    services: (name) => {
      asked.push(`SRV ${name}`);
      return name === '_sip._tcp.example.com'
        ? Promise.resolve([{ name: 'sip1.example.com', port: 5070 }])
        : Promise.reject(new Error('ENODATA'));
    },
  };

  beforeEach(() => {
    asked = [];
    clock = new FakeClock();
    hops = new NextHops(resolver, clock);
  });

  const find = (text: string) => hops.find(asSipUri(text)!);

  it.each<[string, NextHop | undefined]>([
    ['sip:a@192.0.2.7', { transport: 'udp', address: '192.0.2.7', port: 5060 }],
    ['192.0.2.7:5080', { transport: 'udp', address: '192.0.2.7', port: 5080 }],
    ['sip:a@[2001:db8::1]:5070;transport=TCP', { transport: 'tcp', address: '2001:db8::1', port: 5070 }],
    ['sip:a@192.0.2.7;transport=tls', undefined],
    ['sips:a@192.0.2.7', undefined],
    ['tel:+12025550123', undefined],
    ['sip:a@192.0.2.7:0', undefined],
  ])('%s is known at once', (text, expected) => {
    expect(find(text)).toEqual(expected);
    expect(asked).toEqual([]);
  });

  it('goes by SRV when there is no port, and by address when there is one', async () => {
    expect(await find('sip:a@example.com')).toEqual({ transport: 'tcp', address: '192.0.2.1', port: 5070 });
    expect(await find('sip:a@example.com:5061')).toEqual({
      transport: 'udp',
      address: '192.0.2.9',
      port: 5061,
    });
    expect(await find('sip:a@gone.example.com')).toBeUndefined();
    expect(await find('sip:a@other.example.com;transport=udp')).toMatchObject({ address: '192.0.2.9' });
  });

  it('asks once for many, and again after a while', async () => {
    await Promise.all([find('sip:a@example.com'), find('sip:b@example.com')]);
    const once = asked.length;
    await find('sip:c@example.com');
    expect(asked).toHaveLength(once);
    clock.advance(31_000);
    await find('sip:c@example.com');
    expect(asked).toHaveLength(2 * once);
  });

  describe('while DNS fails', () => {
    const fails = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
    const working = { ...resolver };
    afterEach(() => Object.assign(resolver, working));
    const expected = { transport: 'tcp', address: '192.0.2.1', port: 5070 };

    it.each([
      ['all of it', { services: fails('ETIMEOUT'), addresses: fails('EAI_AGAIN') }],
      ['SRV alone, which would lead to another port', { services: fails('ESERVFAIL') }],
      ['addresses alone', { addresses: fails('EAI_AGAIN') }],
    ])('(%s) what was found last holds on', async (_what, change) => {
      expect(await find('sip:a@example.com')).toEqual(expected);
      Object.assign(resolver, change);
      for (let minute = 0; minute < 3; minute++) {
        clock.advance(60_000);
        expect(await find('sip:a@example.com')).toEqual(expected);
      }
      Object.assign(resolver, working);
      asked.length = 0;
      clock.advance(1_001);
      expect(await find('sip:a@example.com')).toEqual(expected);
      expect(asked).not.toEqual([]);
    });

    it('a look-up that never ends holds up no later one', async () => {
      Object.assign(resolver, { services: () => new Promise(() => undefined) });
      void find('sip:a@example.com');
      Object.assign(resolver, working);
      clock.advance(30_001);
      expect(await find('sip:a@example.com')).toEqual(expected);
    });

    it('a name nobody has found is looked up again after a second, and one that is gone is gone', async () => {
      expect(await find('sip:a@example.com')).toEqual(expected);
      Object.assign(resolver, { services: fails('ENOTFOUND'), addresses: fails('ENOTFOUND') });
      expect(await find('sip:a@new.example.com')).toBeUndefined();
      clock.advance(31_000);
      expect(await find('sip:a@example.com')).toBeUndefined();
      Object.assign(resolver, working);
      expect(await find('sip:a@new.example.com:5062')).toMatchObject({ address: '192.0.2.9', port: 5062 });
      expect(await find('sip:a@example.com')).toBeUndefined();
      clock.advance(1_001);
      expect(await find('sip:a@example.com')).toEqual(expected);
    });
  });
});
