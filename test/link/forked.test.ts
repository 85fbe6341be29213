import type { DialogLink, SipDialog } from '../../plugin/link/sip-dialog';
import type { InboundRequest } from '../../plugin/link/sip-link';
import { answerText, requestText } from '../fixtures/messages';
import { Scripted } from './scripted';

/** How drachtio-server names a dialog: by Call-ID and From tag, so that both branches of a forked call have one name. */
const DIALOG = 'call-1@example.net;from-tag=f1';

describe('a call that a proxy forked to us', () => {
  let lab: Scripted;
  beforeEach(async () => {
    lab = await Scripted.start();
    await lab.open();
  });
  afterEach(() => lab.stop());

  const invite = async (branch: string): Promise<InboundRequest> => {
    const got = lab.inbound();
    lab.server.request(requestText({ method: 'INVITE', branch }), {}, branch);
    return got;
  };

  /** Answers, and lets the server say that it did with this tag of ours. */
  const answered = async (request: InboundRequest, status: number, tag: string): Promise<SipDialog> => {
    const done = (lab.link as DialogLink).respondInDialog(request, { status });
    const command = await lab.server.nextSip();
    const sent = answerText(requestText({ method: 'INVITE' }), status).replace('tag=site', `tag=${tag}`);
    const meta = `application|${sent.length}|udp|127.0.0.1|5060|12:00:00.000000|${request.id}|${DIALOG}`;
    lab.server.reply(command, `OK|${meta}|Msg sent:|\r\n${sent}`);
    return done;
  };

  const inDialog = (method: string, tag: string): void => {
    const raw = requestText({ method, cseq: 2 }).replace(/^To: .*/m, `To: <sip:1001@example.com>;tag=${tag}`);
    const meta = `${raw.length}|udp|127.0.0.9|5060|12:00:00.000000|${method}-${tag}|${DIALOG}|127.0.0.1|5060|`;
    lab.server.send(`1|sip|network|${meta}\r\n${raw}`);
  };

  const methodsOf = (leg: SipDialog): string[] => {
    const methods: string[] = [];
    leg.onRequest(({ message }) => methods.push(message.method));
    return methods;
  };

  it('has a leg for each branch: what is sent in one reaches it, and the end of the other does it no harm', async () => {
    const [one, two] = [await invite('z9hG4bK1'), await invite('z9hG4bK2')];
    const first = await answered(one, 180, 'ours-1');
    const second = await answered(two, 180, 'ours-2');
    expect(second).not.toBe(first);
    const [toFirst, toSecond] = [methodsOf(first), methodsOf(second)];
    inDialog('UPDATE', 'ours-2');
    inDialog('UPDATE', 'ours-1');
    expect(await answered(one, 200, 'ours-1')).toBe(first);
    const refused = lab.link.respond(two, { status: 487 });
    lab.server.accepted(await lab.server.nextSip());
    await refused;
    expect([first.ended, second.ended]).toEqual([false, true]);
    inDialog('INFO', 'ours-1');
    inDialog('BYE', 'ours-1');
    while (!toFirst.includes('BYE')) await new Promise((resolve) => setTimeout(resolve, 5));
    expect([toFirst, toSecond]).toEqual([['UPDATE', 'INFO', 'BYE'], ['UPDATE']]);
    first.forget();
    expect((lab.link as DialogLink & { dialogs: number }).dialogs).toBe(0);
  });
});
