import { NameFaults } from '../../plugin/dispatch/name-faults';
import { probe } from '../../plugin/dispatch/own-requests';
import type { SipLink } from '../../plugin/link/sip-link';

const unknown = () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));

describe('why a node can not be reached', () => {
  const names = { addresses: unknown, services: unknown };
  const why = (uri: string, more = {}) => new NameFaults({ ...names, ...more }).of(uri, 50);

  it('is told where its name does not resolve', async () => {
    expect(await why('sip:nosuch.invalid:25060')).toBe(
      'the name nosuch.invalid does not resolve (ENOTFOUND)',
    );
    expect(await why('sip:nosuch.invalid')).toContain('does not resolve');
  });

  it('is another one with an address, a name that resolves, SRV records alone, or a DNS that does not answer', async () => {
    expect(await why('sip:192.0.2.1:5060')).toBeUndefined();
    expect(await why('sip:[2001:db8::1]')).toBeUndefined();
    expect(await why('sip:node.example', { addresses: () => Promise.resolve([{}]) })).toBeUndefined();
    const services = (name: string) =>
      name === '_sip._tcp.node.example' ? Promise.resolve([{}]) : unknown();
    expect(await why('sip:node.example', { services })).toBeUndefined();
    expect(await why('sip:node.example:5060', { services })).toContain('does not resolve');
    expect(await why('sip:node.example', { addresses: () => new Promise(() => undefined) })).toBeUndefined();
  });

  it('is what a probe says, and what the SIP server said otherwise', async () => {
    const reason = 'the SIP server could not send it';
    const link = {
      state: 'connected',
      addresses: [],
      request: () => Promise.resolve({ kind: 'transport_error', reason }),
    } as unknown as SipLink;
    const parts = {
      link: () => link,
      linkOf: () => link,
      now: () => 0,
      newId: () => 'x',
      names: new NameFaults(names),
    };
    const asked = (uri: string) =>
      probe(parts, { server: '', destination: { system: '', site: '', node: uri, uri } }, 50);
    expect(await asked('sip:nosuch.invalid:1')).toEqual({
      kind: 'transport_error',
      reason: 'the name nosuch.invalid does not resolve (ENOTFOUND)',
    });
    expect(await asked('sip:192.0.2.1:1')).toEqual({ kind: 'transport_error', reason });
  });
});
