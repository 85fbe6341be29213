import { LegIds } from '../../plugin/relay/leg-ids';
import { FakeLeg } from '../fixtures/fake-leg';

/** A call between a phone and a site, each with a leg of ours to talk to. */
class Leg extends FakeLeg {
  constructor(
    callId: string,
    override readonly localTag: string,
    override readonly remoteTag: string,
  ) {
    super(callId);
  }
}

describe('names of dialogs that cross', () => {
  const toPhone = new Leg('call-phone', 'us1', 'phone');
  const toSite = new Leg('call-site', 'us2', 'site');
  let ids: LegIds;
  beforeEach(() => {
    ids = new LegIds();
    ids.add(toPhone, toSite);
  });

  // What the phone calls the call, and what the site calls it.
  const PHONE = 'call-phone;to-tag=us1;from-tag=phone';
  const SITE = 'call-site;to-tag=site;from-tag=us2';

  it.each(['replaces', 'join'])('%s: the phone’s name becomes the site’s', (key) => {
    expect(ids.mapHeader(key, PHONE)).toBe(SITE);
    expect(ids.mapHeader(key, ' call-phone ; From-Tag=phone ;to-tag=us1;early-only')).toBe(
      `${SITE};early-only`,
    );
  });

  it('and the site’s becomes the phone’s', () => {
    expect(ids.mapHeader('replaces', 'call-site;to-tag=us2;from-tag=site')).toBe(
      'call-phone;to-tag=phone;from-tag=us1',
    );
  });

  it('renamed twice it is as it was', () => {
    for (const name of [
      PHONE,
      SITE,
      'call-site;to-tag=us2;from-tag=site',
      'call-phone;to-tag=phone;from-tag=us1',
    ])
      expect(ids.mapHeader('replaces', ids.mapHeader('replaces', name))).toBe(name);
  });

  it('Target-Dialog has parameters of its own (RFC 4538)', () => {
    expect(ids.mapHeader('target-dialog', 'call-phone;local-tag=phone;remote-tag=us1')).toBe(
      'call-site;remote-tag=site;local-tag=us2',
    );
  });

  it('Refer-To under both its names, the Replaces in its URI escaped or not', () => {
    const escaped = encodeURIComponent(PHONE);
    expect(
      ids.mapHeaders([
        ['Refer-To', `"Bob" <sip:1003@example.com?Replaces=${escaped}&Require=replaces>;x=1`],
        ['r', `<sip:1003@example.com?replaces=${escaped}>`],
        ['Subject', PHONE],
      ]),
    ).toEqual([
      ['Refer-To', `"Bob" <sip:1003@example.com?Replaces=${encodeURIComponent(SITE)}&Require=replaces>;x=1`],
      ['r', `<sip:1003@example.com?replaces=${encodeURIComponent(SITE)}>`],
      ['Subject', PHONE],
    ]);
  });

  it.each([
    'another-call;to-tag=us1;from-tag=phone',
    'call-phone;to-tag=us1;from-tag=somebody-else',
    'call-phone',
    '',
    ';;;',
  ])('what names none of ours stays as it is: %p', (value) => {
    expect(ids.mapHeader('replaces', value)).toBe(value);
  });

  it('a Refer-To that cannot be unescaped stays as it is', () => {
    const broken = '<sip:1003@example.com?Replaces=call-phone%3>';
    expect(ids.mapHeader('refer-to', broken)).toBe(broken);
  });

  it('nothing is renamed once the call is over', () => {
    ids.remove(toPhone, toSite);
    expect(ids.mapHeader('replaces', PHONE)).toBe(PHONE);
    expect(ids.size).toBe(0);
  });

  it('dialog-info: each dialog of ours by the name the other side has for it, others untouched (RFC 4235)', () => {
    const body = `<?xml version="1.0"?>
<dialog-info xmlns="urn:ietf:params:xml:ns:dialog-info" version="1" state="full" entity="sip:1002@example.com">
<dialog id="a" call-id="call-site" local-tag="site" remote-tag="us2" direction="recipient"><state>confirmed</state></dialog>
<dialog id="b" remote-tag="us2" call-id="call-site" local-tag="stranger"/>
<dialog id="c" call-id="elsewhere" local-tag="site" remote-tag="us2"/>
</dialog-info>`;
    expect(ids.mapDialogInfo(body)).toBe(
      body
        .replace(
          'id="a" call-id="call-site" local-tag="site" remote-tag="us2"',
          'id="a" call-id="call-phone" local-tag="us1" remote-tag="phone"',
        )
        .replace(
          'id="b" remote-tag="us2" call-id="call-site"',
          'id="b" remote-tag="phone" call-id="call-phone"',
        ),
    );
  });
});
