import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { HEARTBEAT_BYTES, longestHeartbeat } from '../../plugin/config/heartbeat-size';
import type { GroupMessage } from '../../plugin/ha/group/message';
import { GROUP_STATES, MESSAGE_KINDS } from '../../plugin/ha/group/message';
import { MAX_MESSAGE_BYTES, decode, encode } from '../../plugin/ha/heartbeat/wire';

const KEY = 'a key of the test';
const u48 = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const id = fc
  .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
  .filter((text) => text !== '__proto__');
const message: fc.Arbitrary<GroupMessage> = fc.record({
  kind: fc.constantFrom(...MESSAGE_KINDS),
  from: id,
  to: fc.oneof(fc.constant(''), id),
  state: fc.constantFrom(...GROUP_STATES),
  incarnation: u48,
  seq: u48,
  term: u48,
  highestTerm: u48,
  tenure: u48,
  links: fc.integer({ min: 0, max: 255 }),
  priority: fc.integer({ min: 0, max: 255 }),
  grant: u48,
  heard: fc.dictionary(id, fc.record({ incarnation: u48, seq: u48 }), { maxKeys: 4, noNullPrototype: true }),
});
const sample: GroupMessage = {
  kind: 'BEAT',
  from: 'a',
  to: '',
  state: 'ACTIVE',
  incarnation: 1,
  seq: 2,
  term: 3,
  highestTerm: 4,
  tenure: 5,
  links: 2,
  priority: 100,
  grant: 0,
  heard: { b: { incarnation: 7, seq: 8 } },
};

/** Seals a body as a later or foreign version would. */
const seal = (body: Buffer): Buffer => Buffer.concat([body, createHmac('sha256', KEY).update(body).digest()]);
const bodyOf = (bytes: Buffer): Buffer => Buffer.from(bytes.subarray(0, bytes.length - 32));

describe('the wire format of heartbeats', () => {
  it('gives back what was written', () => {
    fc.assert(
      fc.property(id, message, (group, value) => {
        expect(decode(group, encode(group, value, KEY), KEY)).toEqual({
          ok: true,
          version: 1,
          message: value,
        });
      }),
    );
  });

  it('takes nothing that was changed, in any byte', () => {
    const bytes = encode('g', sample, KEY);
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes);
      changed[index]! ^= 1;
      const decoded = decode('g', changed, KEY);
      expect(decoded.ok).toBe(false);
    }
  });

  it('never throws, whatever comes, even under the right key', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1400 }), (bytes) => {
        expect(decode('g', Buffer.from(bytes), KEY).ok).toBe(false);
      }),
    );
    const fixed = bodyOf(encode('g', sample, KEY)).subarray(0, 44);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (rest) => {
        decode('g', seal(Buffer.concat([fixed, rest])), KEY);
      }),
    );
  });

  it('says why it refuses', () => {
    const why = (bytes: Buffer, key = KEY, group = 'g'): unknown => {
      const decoded = decode(group, bytes, key);
      return decoded.ok ? 'taken' : decoded.why;
    };
    const bytes = encode('g', sample, KEY);
    expect(why(bytes)).toBe('taken');
    expect(why(bytes, 'another key')).toBe('forged');
    expect(why(bytes, KEY, 'another group')).toBe('foreign');
    expect(why(Buffer.from('INVITE sip:x SIP/2.0'))).toBe('malformed');
    expect(why(Buffer.alloc(0))).toBe('malformed');
    expect(why(seal(bodyOf(bytes).subarray(0, 50)))).toBe('malformed');
  });

  it('reads a later version that only appends, and refuses one that says it cannot be read', () => {
    const later = bodyOf(encode('g', sample, KEY));
    later[2] = 2;
    const appended = Buffer.concat([later, Buffer.from('something that version 2 knows')]);
    expect(decode('g', seal(appended), KEY)).toEqual({ ok: true, version: 2, message: sample });
    appended[3] = 2;
    expect(decode('g', seal(appended), KEY)).toEqual({ ok: false, why: 'version' });
  });

  it('keeps version 1 as it was first written, byte for byte', () => {
    expect(bodyOf(encode('g', sample, KEY)).toString('hex')).toBe(
      '64480101' +
        '00020264' +
        '000000000001' +
        '000000000002' +
        '000000000003' +
        '000000000004' +
        '000000000005' +
        '000000000000' +
        '0167' +
        '0161' +
        '00' +
        '01' +
        '0162' +
        '000000000007' +
        '000000000008',
    );
  });

  it('is as long as the check of the configuration says, at the most', () => {
    const peers = Array.from({ length: 11 }, (_, index) => `${index}`.padEnd(64, 'x'));
    const [from] = peers as [string];
    const heard = Object.fromEntries(peers.map((id) => [id, { incarnation: 1, seq: 1 }]));
    const bytes = encode('g', { ...sample, from, to: from, heard }, KEY);
    expect(bytes.length).toBe(longestHeartbeat('g', peers));
    expect(HEARTBEAT_BYTES).toBe(MAX_MESSAGE_BYTES);
  });

  it('refuses to write what does not fit one frame', () => {
    const heard = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [`${index}`.padEnd(80, 'x'), { incarnation: 1, seq: 1 }]),
    );
    expect(() => encode('g', { ...sample, heard }, KEY)).toThrow(/too long/);
    expect(encode('g', sample, KEY).length).toBeLessThan(MAX_MESSAGE_BYTES);
  });
});
