import { Admission } from '../../plugin/admission/admission';
import { parseConfig } from '../../plugin/config/config';
import type { LimitsConfig } from '../../plugin/config/types';

interface Change {
  readonly max_in_flight?: number;
  readonly per_source?: Partial<LimitsConfig['per_source']>;
}

function limits(change: Change = {}): LimitsConfig {
  return parseConfig({
    domains: ['example.com'],
    sip_servers: [{ name: 'main', server: 'embedded', entry: { address: '127.0.0.1' } }],
    systems: { s: { sites: { main: { nodes: [{ uri: 'sip:127.0.0.2' }] } } } },
    limits: change,
  }).limits;
}

const OFFICE = '203.0.113.7';

describe('Admission', () => {
  it('limits the rate of one source, and lets it in again as time goes by', () => {
    let now = 0;
    const admission = new Admission(limits({ per_source: { requests_per_s: 10, burst: 5 } }), () => now);
    const take = (): string | undefined => {
      const refusal = admission.enter(OFFICE, 'endpoint');
      if (refusal === undefined) admission.leave(OFFICE);
      return refusal;
    };
    expect(Array.from({ length: 6 }, take)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      'too_fast',
    ]);
    now = 100;
    expect([take(), take()]).toEqual([undefined, 'too_fast']);
    expect(admission.enter('203.0.113.8', 'endpoint')).toBeUndefined();
  });

  it('never limits sites, peers and exempt networks', () => {
    const admission = new Admission(
      limits({ per_source: { burst: 1, requests_per_s: 1, exempt_nets: ['203.0.113.0/24'] } }),
      () => 0,
    );
    for (let i = 0; i < 100; i++) {
      expect(admission.enter(OFFICE, 'endpoint')).toBeUndefined();
      expect(admission.enter('198.51.100.21', 'site')).toBeUndefined();
      expect(admission.enter('192.0.2.70', 'peer')).toBeUndefined();
    }
  });

  it('blocks a source that only ever fails, for a while', () => {
    let now = 0;
    const admission = new Admission(limits({ per_source: { failed_requests: 5, block_s: 60 } }), () => now);
    const blocked = Array.from({ length: 5 }, (_, i) =>
      admission.ended(OFFICE, 'endpoint', 404, `account ${i}`),
    );
    expect(blocked).toEqual([false, false, false, false, true]);
    expect(admission.enter(OFFICE, 'endpoint')).toBe('blocked');
    expect(Admission.isSilent('blocked')).toBe(true);
    now = 60_001;
    expect(admission.enter(OFFICE, 'endpoint')).toBeUndefined();
  });

  it('does not lock out an office in which some succeed', () => {
    const admission = new Admission(limits({ per_source: { failed_requests: 5 } }), () => 0);
    for (let i = 0; i < 1000; i++) {
      expect(admission.ended(OFFICE, 'endpoint', 404, `account ${i}`)).toBe(false);
      if (i % 4 === 3) admission.ended(OFFICE, 'endpoint', 200, '');
    }
  });

  it('H38: answers a phone with a wrong account, however often it asks', () => {
    const admission = new Admission(limits({ per_source: { failed_requests: 5 } }), () => 0);
    for (let i = 0; i < 1000; i++)
      expect(admission.ended(OFFICE, 'endpoint', 404, 'account 4999')).toBe(false);
  });

  it('takes a challenge or a busy for neither', () => {
    const admission = new Admission(limits({ per_source: { failed_requests: 3 } }), () => 0);
    for (let i = 0; i < 50; i++) {
      for (const status of [401, 407, 486, 503])
        expect(admission.ended(OFFICE, 'endpoint', status, `account ${i}`)).toBe(false);
    }
  });

  it('forgets failures when their window is over', () => {
    let now = 0;
    const admission = new Admission(
      limits({ per_source: { failed_requests: 3, failed_window_s: 10 } }),
      () => now,
    );
    for (let i = 0; i < 50; i++) {
      expect(admission.ended(OFFICE, 'endpoint', 404, `account ${i}`)).toBe(false);
      now += 6_000;
    }
  });

  it('takes no more than max_in_flight at once', () => {
    const admission = new Admission(limits({ max_in_flight: 2 }), () => 0);
    expect([1, 2, 3].map(() => admission.enter('198.51.100.21', 'site'))).toEqual([
      undefined,
      undefined,
      'too_many',
    ]);
    admission.leave('198.51.100.21');
    expect(admission.enter('198.51.100.21', 'site')).toBeUndefined();
    expect(Admission.isSilent('too_many')).toBe(false);
  });

  it('lets one source hold its part of what may be under way, so that there is room for the others', () => {
    const change = { requests_per_s: 1000, in_flight_percent: 30, exempt_nets: ['192.0.2.0/24'] };
    const admission = new Admission(limits({ max_in_flight: 10, per_source: change }), () => 0);
    const enter = (address: string): string | undefined => admission.enter(address, 'endpoint');
    expect([1, 2, 3, 4].map(() => enter(OFFICE))).toEqual([
      undefined,
      undefined,
      undefined,
      'too_many_of_source',
    ]);
    expect(Admission.isSilent('too_many_of_source')).toBe(false);
    // A call goes on to count when somebody else carries it.
    admission.move('ours', 'handed_on');
    expect([enter(OFFICE), enter('203.0.113.8')]).toEqual(['too_many_of_source', undefined]);
    expect([1, 2, 3, 4].map(() => enter('192.0.2.1'))).toEqual(Array(4).fill(undefined));
    expect(admission.enter(OFFICE, 'site')).toBeUndefined();
    expect(enter(OFFICE)).toBe('too_many_of_source');
    admission.leave(OFFICE);
    expect(enter(OFFICE)).toBe('too_many_of_source');
    admission.leave(OFFICE, 'handed_on');
    expect(enter(OFFICE)).toBeUndefined();
  });

  it('never lets one source fill it with calls that ring, however long', () => {
    let now = 0;
    const admission = new Admission(limits(), () => now);
    const refused = new Set<string | undefined>();
    for (let i = 0; i < 60_000; i++, now += 5) refused.add(admission.enter(OFFICE, 'endpoint'));
    expect(refused).toEqual(new Set([undefined, 'too_many_of_source']));
    expect(admission.inFlight).toBe(10_000);
    expect(admission.enter('203.0.113.8', 'endpoint')).toBeUndefined();
  });

  it('refuses all while draining or standby', () => {
    const admission = new Admission(limits(), () => 0);
    admission.setMode('draining');
    expect(admission.enter(OFFICE, 'site')).toBe('draining');
    expect(Admission.isSilent('draining')).toBe(false);
    admission.setMode('standby');
    expect(admission.enter(OFFICE, 'site')).toBe('standby');
    expect(Admission.isSilent('standby')).toBe(true);
  });

  it('tells when it is idle, or that it is not in time', async () => {
    const admission = new Admission(limits(), () => 0);
    expect(await admission.idle(1000)).toBe(true);
    admission.enter(OFFICE, 'site');
    expect(await admission.idle(10)).toBe(false);
    const idle = admission.idle(10_000);
    admission.leave(OFFICE);
    expect(await idle).toBe(true);
  });

  it('does not wait for what the SIP server goes on with by itself', async () => {
    const admission = new Admission(limits(), () => 0);
    admission.enter(OFFICE, 'site');
    const idle = admission.idle(10_000);
    admission.move('ours', 'handed_on');
    expect(await idle).toBe(true);
    expect(admission.inFlight).toBe(1);
    admission.leave(OFFICE, 'handed_on');
    expect(admission.inFlight).toBe(0);
    admission.enter(OFFICE, 'site');
    expect(await admission.idle(10)).toBe(false);
  });

  it('waits for bridged calls or not, as it is asked', async () => {
    const admission = new Admission(limits(), () => 0);
    admission.enter(OFFICE, 'site');
    admission.move('ours', 'bridged');
    expect(await admission.idle(10, ['ours'])).toBe(true);
    expect(await admission.idle(10)).toBe(false);
  });

  it('lets in during a hand-over; with a group, who has the addresses decides, whatever was told', () => {
    let holds: boolean | undefined = true;
    const admission = new Admission(
      limits(),
      () => 0,
      () => holds,
    );
    admission.setMode('handing_over');
    expect(admission.enter(OFFICE, 'site')).toBeUndefined();
    admission.setMode('standby');
    // The addresses are here, and the word of it is on its way.
    expect(admission.enter(OFFICE, 'site')).toBeUndefined();
    admission.setMode('serving');
    holds = false;
    expect(admission.enter(OFFICE, 'site')).toBe('standby');
  });

  it('asks at each request whether this instance still serves', () => {
    let serves = true;
    const admission = new Admission(
      limits(),
      () => 0,
      () => serves,
    );
    expect(admission.enter(OFFICE, 'site')).toBeUndefined();
    serves = false;
    expect(admission.enter(OFFICE, 'site')).toBe('standby');
  });

  it('keeps count of no more sources than it may', () => {
    const admission = new Admission(
      limits({ per_source: { max_sources: 100, burst: 1, requests_per_s: 1 } }),
      () => 0,
    );
    admission.enter('10.0.0.1', 'endpoint');
    expect(admission.enter('10.0.0.1', 'endpoint')).toBe('too_fast');
    for (let i = 0; i < 200; i++) admission.enter(`10.0.1.${i}`, 'endpoint');
    expect(admission.enter('10.0.0.1', 'endpoint')).toBeUndefined();
  });
});
