import { describeWith } from '../fixtures/needs';
import { tortureFiles } from '../fixtures/sip-files';
import { FakeClock } from './fake-clock';
import { openLab, type Lab } from './lab';
import { play, type Outcome } from './play';
import { requestOf, until } from './sip-peer';

const OUTCOMES: readonly [status: number, forwarded: boolean, files: string][] = [
  [0, false, 'bcast bigcode noreason scalarlg unreason'],
  [
    200,
    true,
    'badbranch baddate cparam01 cparam02 dblreq esc01 esc02 escnull intmeth inv2543 invut longreq lwsdisp mpart01 regaut01 regescrt sdp01 semiuri transports unksm2 ipv4-mapped-ipv6 ipv4-mapped-ipv6.cl-fixed ipv6-correct-abnf-2-colons ipv6-good ipv6-in-sdp ipv6-in-sdp.cl-fixed mult-ip-in-sdp mult-ip-in-sdp.cl-fixed port-ambiguous port-unambiguous via-received-param-no-delim',
  ],
  [
    400,
    false,
    'badaspec baddn-333 baddn badinv01 clerr escruri insuf ltgtruri lwsruri lwsstart mcl01 mismatch01 mismatch02 multi01 ncl quotbal regbadct scalar02 trws ipv6-bad ipv6-bug-abnf-3-colons',
  ],
  [416, false, 'novelsc unkscm'],
  [420, false, 'bext01'],
  [481, false, 'wsinv mult-ip-in-header via-received-param-with-delim'],
  [483, false, 'zeromf'],
  [505, false, 'badvers'],
];

const EXPECTED: Record<string, Outcome> = Object.fromEntries(
  OUTCOMES.flatMap(([status, forwarded, files]) =>
    files.split(' ').map((file): [string, Outcome] => [file, [status, forwarded]]),
  ),
);

describeWith(['torture'], 'the torture messages of RFC 4475 and RFC 5118 at the server', () => {
  let lab: Lab;
  const clock = new FakeClock();
  const seen: Record<string, Outcome> = {};

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

  it('get what they deserve, and the server goes on', async () => {
    for (const { name: file, raw } of tortureFiles()) {
      const name = file.replace(/\.dat$/, '');
      seen[name] = await play(raw, lab, clock, EXPECTED[name]?.[0] === 0 ? 'silent' : 'answered');
    }
    lab.phone.send(requestOf('OPTIONS', 'sip:example.com', lab.phone.host), lab.us);
    await until(() => lab.phone.received.some(({ status }) => status === 200));
    expect(seen).toEqual(EXPECTED);
  }, 60_000);
});
