import { entryTrouble } from '../../plugin/servers/entry-check';
import type { TransportAddress } from '../../plugin/link/sip-link';

const listens = (...places: [string, number][]): TransportAddress[] =>
  places.map(([address, port]) => ({ transport: 'udp', address, port }));

const trouble = (
  entry: { address: string; port: number; tls_port?: number },
  addresses: TransportAddress[],
  bound = addresses,
  state: 'connected' | 'lost' = 'connected',
): string | undefined =>
  entryTrouble({ name: 'main', entry: { transports: ['udp'], ...entry } }, { state, addresses, bound });

describe('the check of an entry address', () => {
  it('says where the server listens instead', () => {
    expect(trouble({ address: '127.77.0.7', port: 5060 }, listens(['127.77.0.1', 5060], ['::1', 5062]))).toBe(
      'SIP server main does not listen on its entry address 127.77.0.7:5060: it listens on udp 127.77.0.1:5060, udp [::1]:5062',
    );
    expect(trouble({ address: '127.77.0.1', port: 5060 }, listens(['127.77.0.1', 5080]))).toMatch(
      /does not listen on its entry address 127\.77\.0\.1:5060/,
    );
  });

  it.each([
    ['listens there', { address: '10.0.0.5', port: 5060 }, listens(['10.0.0.6', 5060], ['10.0.0.5', 5060])],
    ['listens on all addresses', { address: '10.0.0.5', port: 5060 }, listens(['0.0.0.0', 5060])],
    ['serves TLS alone', { address: '10.0.0.5', port: 5060, tls_port: 5061 }, listens(['10.0.0.5', 5061])],
    ['writes IPv6 otherwise', { address: '2001:db8::5', port: 5060 }, listens(['[2001:DB8:0::5]', 5060])],
    ['tells nothing', { address: '10.0.0.5', port: 5060 }, []],
  ])('has nothing against a server that %s', (_, entry, addresses) => {
    expect(trouble(entry, addresses)).toBeUndefined();
  });

  it('takes the external address and the one behind it', () => {
    const outside = listens(['203.0.113.9', 5060]);
    const inside = listens(['10.0.0.5', 5060]);
    expect(trouble({ address: '203.0.113.9', port: 5060 }, outside, inside)).toBeUndefined();
    expect(trouble({ address: '10.0.0.5', port: 5060 }, outside, inside)).toBeUndefined();
    expect(trouble({ address: '10.0.0.6', port: 5060 }, outside, inside)).toBeDefined();
  });

  it('knows nothing of a server that is not connected', () => {
    const addresses = listens(['127.77.0.1', 5060]);
    expect(trouble({ address: '127.77.0.7', port: 5060 }, addresses, addresses, 'lost')).toBeUndefined();
  });
});
