import { handedFile, handedFiles } from '../fixtures/sip-files';
import { FakeClock } from './fake-clock';
import { openLab, type Lab } from './lab';
import { play, type Outcome } from './play';
import { requestOf, until } from './sip-peer';

/** All others are forwarded and answered 200. A CANCEL or an ACK alone belongs to nothing. */
const OTHERWISE: Record<string, Outcome> = {
  '02-register-contact-none': [400, false],
  '03-register-line-without-colon': [400, false],
  '13-register-contact-percent-ruri': [400, false],
  '13-register-contact-percent': [400, false],
  '14-cancel-twice-2-cancel': [481, false],
  '21-content-length-2147483648': [400, false],
  '22-two-to-one-empty-tag': [400, false],
  '23-ack-to-error-new-branch-2-ack': [0, false],
  '29-reinvite-unknown-dialog': [481, false],
};

describe('the handed failure cases at the server, with an application that proxies all it sees', () => {
  let lab: Lab;
  const clock = new FakeClock();

  beforeAll(async () => {
    lab = await openLab(
      (srf) => {
        srf.use(
          (req) => void srf.proxyRequest(req, [`sip:site@${lab.sites[0]!.host}`]).catch(() => undefined),
        );
        (srf as unknown as { reregisterForMessages(verb: string): void }).reregisterForMessages('*');
      },
      { clock },
    );
    lab.sites[0]!.answerWith(200);
  });
  afterAll(() => lab.close());

  it('get what they deserve, each, and a good request right after is answered', async () => {
    const seen: Record<string, Outcome> = {};
    for (const { name: file, raw } of handedFiles()) {
      const name = file.replace(/\.sip$/, '');
      seen[name] = await play(raw, lab, clock, OTHERWISE[name]?.[0] === 0 ? 'silent' : 'answered');
      lab.phone.received.length = 0;
      lab.phone.send(requestOf('OPTIONS', 'sip:example.com', lab.phone.host), lab.us);
      await until(() => lab.phone.received.some(({ status }) => status === 200));
    }
    const names = Object.keys(seen);
    expect(names.length).toBeGreaterThan(30);
    expect(seen).toEqual(Object.fromEntries(names.map((name) => [name, OTHERWISE[name] ?? [200, true]])));
  }, 60_000);

  const atSite = async (prefix: string) => {
    await play(handedFile(prefix), lab, clock);
    return lab.sites[0]!.received[0]!;
  };

  it('H01: a star Contact reaches the site byte for byte, under its own name', async () => {
    expect((await atSite('01-register-star-tcp.')).raw).toContain('\r\nContact: *\r\nExpires: 0\r\n');
    expect((await atSite('01-register-star-tcp-compact')).raw).toContain('\r\nm: *\r\nExpires: 0\r\n');
  });

  it('H07: two Vias in one line stay two, in order', async () => {
    const branches = (await atSite('07')).vias.map(({ branch }) => branch);
    expect(branches.slice(1)).toEqual(['z9hG4bK-h07p', 'z9hG4bK-h07c']);
  });

  it('H23: an ACK with another branch ends nothing: the refusal is repeated until timer H', async () => {
    lab.sites[0]!.answerWith(486);
    const [invite, ack] = [
      handedFile('23-ack-to-error-new-branch-1'),
      handedFile('23-ack-to-error-new-branch-2'),
    ];
    lab.phone.received.length = 0;
    lab.phone.send(invite, lab.us);
    await until(() => lab.phone.received.some(({ status }) => status === 486));
    lab.phone.send(ack, lab.us);
    lab.phone.send(requestOf('OPTIONS', 'sip:example.com', lab.phone.host), lab.us);
    await until(() => lab.phone.received.length > 2);
    clock.advance(500);
    await until(() => lab.phone.received.filter(({ status }) => status === 486).length > 1);
    clock.advance(40_000);
    lab.sites[0]!.answerWith(200);
    expect(lab.server.counts().servers).toBeLessThan(3);
  });

  it('H08, H09, H10, H28: headers and bodies pass as they are', async () => {
    for (const prefix of ['08', '09', '10', '28', '40']) {
      const raw = handedFile(prefix);
      const message = await atSite(prefix);
      const sent = raw.slice(0, raw.indexOf('\r\n\r\n')).split('\r\n');
      const kept = sent.slice(1).filter((line) => !/^(?:via|max-forwards|content-length)/i.test(line));
      for (const line of kept) expect(message.raw).toContain(line.trimEnd());
      expect(message.body).toBe(raw.slice(raw.indexOf('\r\n\r\n') + 4));
    }
  });
});
