import { plainContact, transportOfUri } from '../../plugin/link/secure-contact';
import { DRACHTIO_CAPABILITIES, type TransportAddress } from '../../plugin/link/sip-link';

const ADDRESSES: TransportAddress[] = [
  { transport: 'udp', address: '198.51.100.10', port: 5060 },
  { transport: 'tls', address: '198.51.100.10', port: 5061 },
];
const can = DRACHTIO_CAPABILITIES;

describe('the Contact of a dialog over TLS', () => {
  it('is a sip: URI, since many phones cannot follow a sips: one', () => {
    expect(plainContact('tls', 'sip:1002@example.com', [], ADDRESSES, can)).toEqual([
      ['Contact', '<sip:198.51.100.10:5061;transport=tls>'],
    ]);
    const v6: TransportAddress[] = [{ transport: 'tls', address: '2001:db8::1', port: 5061 }];
    expect(plainContact('tls', 'sip:1002@example.com', [], v6, can)).toEqual([
      ['Contact', '<sip:[2001:db8::1]:5061;transport=tls>'],
    ]);
  });

  it('is left to the server where the request was to a sips: URI, and on other transports', () => {
    expect(plainContact('tls', 'sips:1002@example.com', [], ADDRESSES, can)).toEqual([]);
    for (const transport of ['udp', 'tcp', 'ws', 'wss', undefined] as const)
      expect(plainContact(transport, 'sip:1002@example.com', [], ADDRESSES, can)).toEqual([]);
    expect(plainContact('tls', 'sip:1002@example.com', [], ADDRESSES.slice(0, 1), can)).toEqual([]);
  });

  it('is left to who gives one, and to a server that sends headers as given', () => {
    for (const name of ['Contact', 'm'])
      expect(plainContact('tls', 'sip:1@example.com', [[name, '<sip:a@b>']], ADDRESSES, can)).toEqual([]);
    const exact = { ...can, exactHeaders: true };
    expect(plainContact('tls', 'sip:1002@example.com', [], ADDRESSES, exact)).toEqual([]);
  });

  it('is chosen by the transport that the next hop names', () => {
    expect(transportOfUri('sip:203.0.113.7:5061;transport=TLS')).toBe('tls');
    expect(transportOfUri('sip:203.0.113.7:5060')).toBeUndefined();
    expect(transportOfUri('sip:203.0.113.7;transport=sctp')).toBeUndefined();
  });
});
