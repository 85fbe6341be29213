import { buildResponse } from '../../plugin/message/build';
import { parseMessage } from '../../plugin/message/parse';
import { parseUri } from '../../plugin/message/uri';
import { checkRequest, checkResponse } from '../../plugin/message/validate';
import type { SipMessage } from '../../plugin/message/sip-message';
import { describeWith } from '../fixtures/needs';
import { tortureFiles } from '../fixtures/sip-files';

/** What happens to a message as it would at the edge: forwarded, a status, or dropped. */
type Fate = number | 'forward' | 'drop';

function fate(raw: string): Fate {
  const result = parseMessage(raw);
  if (!result.ok) return result.message === undefined ? 'drop' : 400;
  const { message } = result;
  if (message.kind === 'response') return checkResponse(message) === undefined ? 'forward' : 'drop';
  return checkRequest(message, message.via?.transport === 'TCP' ? 'stream' : 'datagram')?.status ?? 'forward';
}

/** Every file that is not simply forwarded; the duties are those of RFC 4475 and RFC 5118. */
const FATES: ReadonlyMap<string, Fate> = new Map<string, Fate>([
  ['badinv01.dat', 400],
  ['clerr.dat', 400],
  ['ncl.dat', 400],
  ['scalar02.dat', 400],
  ['scalarlg.dat', 'drop'],
  ['quotbal.dat', 400],
  ['ltgtruri.dat', 400],
  ['lwsruri.dat', 400],
  ['lwsstart.dat', 400],
  ['trws.dat', 400],
  ['escruri.dat', 400],
  ['regbadct.dat', 400],
  ['badaspec.dat', 400],
  ['baddn.dat', 400],
  ['baddn-333.dat', 400],
  ['badvers.dat', 505],
  ['mismatch01.dat', 400],
  ['mismatch02.dat', 400],
  ['bigcode.dat', 'drop'],
  ['insuf.dat', 400],
  ['unkscm.dat', 416],
  ['novelsc.dat', 416],
  ['bext01.dat', 420],
  ['multi01.dat', 400],
  ['mcl01.dat', 400],
  ['bcast.dat', 'drop'],
  ['zeromf.dat', 483],
  ['ipv6-bad', 400],
  ['ipv6-bug-abnf-3-colons', 400],
]);

describeWith(['torture'], 'the messages of RFC 4475 and RFC 5118', () => {
  const files = tortureFiles();
  const message = (name: string): SipMessage => {
    const result = parseMessage(files.find((file) => file.name === name)?.raw ?? '');
    if (!result.ok) throw new Error(`${name}: ${result.reason}`);
    return result.message;
  };

  it('are all there', () => expect(files).toHaveLength(65));

  it.each(files.map((file) => [file.name, FATES.get(file.name) ?? 'forward', file.raw] as const))(
    '%s: %s',
    (_, expected, raw) => expect(fate(raw)).toBe(expected),
  );

  it.each(files.map((file) => [file.name, file.raw] as const))(
    '%s: an answer to it can be read back',
    (_, raw) => {
      const result = parseMessage(raw);
      if (result.message?.kind !== 'request') return;
      const answer = parseMessage(buildResponse(result.message, { status: 400, toTag: 'x' }));
      expect(answer.ok && answer.message.getAll('via')).toEqual(result.message.getAll('via'));
    },
  );

  it('wsinv: folded lines, spaces and an escaped quote are read as if written plainly', () => {
    const wsinv = message('wsinv.dat');
    expect(wsinv.vias.map((via) => [via.transport, via.host, via.branch])).toEqual([
      ['UDP', '192.0.2.2', '390skdjuw'],
      ['TCP', 'spindle.example.com', 'z9hG4bK9ikj8'],
      ['UDP', '192.168.255.111', 'z9hG4bK30239'],
    ]);
    expect(wsinv.from).toMatchObject({ displayName: 'J Rosenberg \\"', uri: 'sip:jdrosen@example.com' });
    expect(wsinv).toMatchObject({ maxForwards: 68, cseq: { number: 9, method: 'INVITE' } });
    expect(wsinv.contacts[0]?.params).toEqual([
      ['newparam', 'newvalue'],
      ['secondparam', undefined],
      ['q', '0.33'],
    ]);
  });

  it('intmeth: an escaped NUL in a quoted name stays', () => {
    expect(message('intmeth.dat').to?.displayName).toBe('BEL:\x07 NUL:\x00 DEL:\x7f');
  });

  it('esc01 and semiuri: escapes and semicolons stay in the user part', () => {
    expect(parseUri(message('esc01.dat').uri)?.user).toBe('sips%3Auser%40example.com');
    expect(parseUri(message('semiuri.dat').uri)).toMatchObject({
      user: 'user;par=u%40example.net',
      host: 'example.com',
      params: [],
    });
  });

  it('escnull: two Contacts that differ behind %00 stay two', () => {
    expect(message('escnull.dat').contacts.map(({ uri }) => uri)).toEqual([
      'sip:%00@host5.example.com',
      'sip:%00%00@host5.example.com',
    ]);
  });

  it('esc02: RE%47IST%45R is not REGISTER', () => {
    expect(message('esc02.dat').method).toBe('RE%47IST%45R');
  });

  it('longreq: all 34 Via values are there', () => expect(message('longreq.dat').vias).toHaveLength(34));

  it('dblreq: what comes behind the first request is not part of it', () => {
    expect(message('dblreq.dat')).toMatchObject({ method: 'REGISTER', body: '' });
  });

  it('cparam01 and cparam02: without brackets a parameter belongs to the header', () => {
    expect(message('cparam01.dat').contacts[0]).toMatchObject({
      uri: 'sip:+19725552222@gw1.example.net',
      params: [['unknownparam', undefined]],
    });
    expect(message('cparam02.dat').contacts[0]).toMatchObject({
      uri: 'sip:+19725552222@gw1.example.net;unknownparam',
      params: [],
    });
  });

  it('bext01: the 420 lists what Proxy-Require asked for', () => {
    expect(checkRequest(message('bext01.dat'), 'datagram')?.headers).toEqual([
      ['Unsupported', 'noProxiesSupportThis, norDoAnyProxiesSupportThis'],
    ]);
  });

  it('port-ambiguous and port-unambiguous: only a port behind the brackets is one', () => {
    expect(parseUri(message('port-ambiguous').uri)).toMatchObject({ host: '[2001:db8::10:5070]' });
    expect(parseUri(message('port-ambiguous').uri)?.port).toBeUndefined();
    expect(parseUri(message('port-unambiguous').uri)).toMatchObject({ host: '[2001:db8::10]', port: 5070 });
  });

  it('via-received-param: with and without brackets it is the same address', () => {
    const received = ['via-received-param-with-delim', 'via-received-param-no-delim'].map(
      (name) => message(name).via?.received,
    );
    expect(received).toEqual(['2001:db8::9:255', '2001:db8::9:255']);
  });

  it('ipv4-mapped-ipv6: the address is one', () => {
    expect(message('ipv4-mapped-ipv6').via?.host).toBe('[::ffff:192.0.2.10]');
  });
});
