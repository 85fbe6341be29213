import { AddressTable, canonicalHost, parseAddress } from '../../plugin/routing/address';

describe('addresses', () => {
  it.each([
    ['2001:db8::1', '[2001:DB8:0:0::1]'],
    ['::1', '0:0:0:0:0:0:0:1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['Example.COM', 'example.com.'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('%s and %s are one host', (one, other) => {
    expect(canonicalHost(one)).toBe(canonicalHost(other));
  });

  it('reads the ends of the range', () => {
    expect(parseAddress('255.255.255.255')).toEqual({ family: 4, bits: 4294967295 });
    expect(parseAddress('::')).toEqual({ family: 6, bits: 0n });
    expect(parseAddress('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff')).toEqual({
      family: 6,
      bits: (1n << 128n) - 1n,
    });
    expect(parseAddress('1.2.3')).toBeUndefined();
    expect(parseAddress('host')).toBeUndefined();
  });
});

describe('AddressTable', () => {
  const table = new AddressTable<string>();
  table.add('0.0.0.0/0', 'any');
  table.add('192.0.2.0/24', 'net');
  table.add('192.0.2.128/25', 'half');
  table.add('192.0.2.129', 'host');
  table.add('2001:db8::/32', 'six');
  table.add('2001:db8:1::/48', 'site');

  it.each([
    ['192.0.2.5', 'net'],
    ['192.0.2.200', 'half'],
    ['192.0.2.129', 'host'],
    ['203.0.113.1', 'any'],
    ['::ffff:192.0.2.129', 'host'],
    ['2001:db8::5', 'six'],
    ['2001:db8:1::5', 'site'],
    ['2001:db9::5', undefined],
    ['not an address', undefined],
  ])('%s belongs to the longest prefix', (address, value) => {
    expect(table.find(address)).toBe(value);
  });

  it('says that text is no network', () => {
    expect(table.add('host.example', 'x')).toBe(false);
    expect(table.add('192.0.2.0/33', 'x')).toBe(false);
    expect(table.add('192.0.2.0/x', 'x')).toBe(false);
  });

  it('keeps the first of two equal networks', () => {
    expect(table.add('192.0.2.0/24', 'later')).toBe(true);
    expect(table.find('192.0.2.5')).toBe('net');
  });
});
