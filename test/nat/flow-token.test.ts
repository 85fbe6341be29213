import fc from 'fast-check';
import type { Flow } from '../../plugin/nat/flow';
import { FLOW_TRANSPORTS, packFlow, sameFlow, unpackFlow } from '../../plugin/nat/flow';
import { FlowTokens } from '../../plugin/nat/flow-token';
import { parseUri } from '../../plugin/message/uri';

const key = (id: number) => ({ id, secret: `secret number ${id} of the group` });
const flow: Flow = {
  entry: { address: '198.51.100.10', port: 5060 },
  transport: 'udp',
  remote: { address: '203.0.113.7', port: 40123 },
};
const flow6: Flow = {
  entry: { address: '2001:db8::10', port: 5061 },
  transport: 'wss',
  remote: { address: '2001:db8:0:1::33', port: 5070 },
};

const anyEnd = fc.record({
  address: fc.oneof(fc.ipV4(), fc.ipV6()),
  port: fc.integer({ min: 0, max: 65535 }),
});
const anyFlow = fc.record({
  entry: anyEnd,
  transport: fc.constantFrom(...FLOW_TRANSPORTS),
  remote: anyEnd,
});

describe('a flow token', () => {
  const tokens = new FlowTokens([key(1)]);

  it('brings back the flow, at no more than 64 characters for IPv4', () => {
    const token = tokens.issue(flow);
    expect(token).toHaveLength(36);
    expect(tokens.read(token)).toEqual({ kind: 'ok', flow, behindNat: false, keyId: 1 });
  });

  it('H06: brings back an IPv6 flow', () => {
    const token = tokens.issue(flow6);
    expect(token).toHaveLength(68);
    expect(tokens.read(token)).toEqual({ kind: 'ok', flow: flow6, behindNat: false, keyId: 1 });
  });

  it('says whether the endpoint is behind NAT, and nobody can change that', () => {
    const token = tokens.issue(flow, true);
    expect(token).toHaveLength(36);
    expect(tokens.read(token)).toEqual({ kind: 'ok', flow, behindNat: true, keyId: 1 });
    const bytes = Buffer.from(token, 'base64url');
    bytes[0]! &= 0x7f;
    expect(tokens.read(bytes.toString('base64url'))).toEqual({ kind: 'bad_token' });
  });

  it('is the same flow after a round trip, whatever the flow', () => {
    fc.assert(
      fc.property(anyFlow, (each) => {
        const outcome = tokens.read(tokens.issue(each));
        expect(outcome.kind === 'ok' && sameFlow(outcome.flow, each)).toBe(true);
      }),
    );
  });

  it('can stand in a SIP URI as it is', () => {
    fc.assert(
      fc.property(anyFlow, (each) => {
        const token = tokens.issue(each);
        expect(parseUri(`sip:${token}@198.51.100.10:5060;lr`)?.user).toBe(token);
      }),
    );
  });

  it('is refused with any one character changed', () => {
    const token = tokens.issue(flow);
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === 'A' ? 'B' : 'A';
      const outcome = tokens.read(token.slice(0, at) + other + token.slice(at + 1));
      expect(outcome.kind).not.toBe('ok');
    }
  });

  it('is refused cut short, made longer, or spelt another way', () => {
    const token = tokens.issue(flow);
    for (let length = 0; length < token.length; length++)
      expect(tokens.read(token.slice(0, length))).toEqual({ kind: 'bad_token' });
    for (const other of [
      `${token}A`,
      `${token}=`,
      ` ${token}`,
      `${token.slice(0, 5)}\n${token.slice(5)}`,
      token.repeat(1000),
    ])
      expect(tokens.read(other)).toEqual({ kind: 'bad_token' });
  });

  it('never makes reading throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(tokens.read(text).kind).not.toBe('ok');
      }),
    );
  });

  it('of a foreign group is refused though the key id is the same', () => {
    const foreign = new FlowTokens([{ id: 1, secret: 'another secret of 16+' }]);
    expect(tokens.read(foreign.issue(flow))).toEqual({ kind: 'bad_token' });
  });

  it('of an instance with the same keys is taken', () => {
    expect(new FlowTokens([key(1)]).read(tokens.issue(flow)).kind).toBe('ok');
  });

  it('from before a rotation is taken while its key is configured, then named as of an unknown key', () => {
    const old = tokens.issue(flow);
    const rotated = new FlowTokens([key(2), key(1)]);
    expect(rotated.read(old)).toMatchObject({ kind: 'ok', keyId: 1 });
    expect(rotated.read(rotated.issue(flow))).toMatchObject({ kind: 'ok', keyId: 2 });
    expect(new FlowTokens([key(3), key(2)]).read(old)).toEqual({ kind: 'unknown_key', keyId: 1 });
  });

  it('without a configured key is known to this process only', () => {
    const one = new FlowTokens([]);
    const token = one.issue(flow);
    expect(one.read(token).kind).toBe('ok');
    expect(new FlowTokens([]).read(token)).toEqual({ kind: 'bad_token' });
  });

  it('is not made for what is no address', () => {
    expect(() => tokens.issue({ ...flow, remote: { address: 'phone.example.com', port: 5060 } })).toThrow(
      TypeError,
    );
    expect(() => tokens.issue({ ...flow, remote: { address: '203.0.113.7', port: 70000 } })).toThrow(
      TypeError,
    );
  });
});

describe('packFlow', () => {
  it.each([
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::', '::'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['::1', '::1'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ])('reads %s as %s', (written, canonical) => {
    const packed = packFlow({ ...flow, remote: { address: written, port: 5060 } });
    expect(unpackFlow(packed)?.remote.address).toBe(canonical);
  });

  it('refuses bytes it would not make', () => {
    const packed = packFlow(flow);
    expect(unpackFlow(Buffer.concat([packed, Buffer.alloc(1)]))).toBeUndefined();
    expect(unpackFlow(Buffer.from([0x0f, ...packed.subarray(1)]))).toBeUndefined();
    expect(unpackFlow(Buffer.from([0x80, ...packed.subarray(1)]))).toBeUndefined();
    expect(unpackFlow(Buffer.alloc(0))).toBeUndefined();
  });
});
