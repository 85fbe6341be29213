import { uncarried } from '../../plugin/cli/uncarried';
import { startEmbeddedServer } from '../../plugin/embedded';
import { createLink, untilConnected } from '../../plugin/link/create-link';
import { DrachtioProcess } from '../fixtures/drachtio-process';
import { describeWith } from '../fixtures/needs';
import { freePort, SipEndpoint } from '../fixtures/sip-endpoint';

class Phone extends SipEndpoint {
  static async open(): Promise<Phone> {
    const { udp, tcp } = await SipEndpoint.sockets({});
    return new Phone('127.0.0.1', udp, tcp);
  }
}

const METHODS = ['FOO', 'BYE', 'CANCEL', 'PRACK', 'UPDATE', 'ACK'];

/** What a server at this port says to a request outside of everything; undefined: nothing within a second and a half. */
async function answerTo(method: string, port: number): Promise<number | undefined> {
  const phone = await Phone.open();
  const own = `127.0.0.1:${phone.port}`;
  await phone.send(
    [
      `${method} sip:1002@example.com SIP/2.0`,
      `Via: SIP/2.0/UDP ${own};branch=z9hG4bK-${method};rport`,
      'Max-Forwards: 70',
      'From: <sip:1001@example.com>;tag=1',
      'To: <sip:1002@example.com>',
      `Call-ID: ${method}-${own}`,
      `CSeq: 1 ${method}`,
      `Contact: <sip:1001@${own}>`,
      'Refer-To: <sip:1003@example.com>',
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
    { address: '127.0.0.1', port, transport: 'udp' },
  );
  const answer = await phone
    .waitFor((received) => received.message.status >= 200, 1500)
    .catch(() => undefined);
  await phone.close();
  return answer?.message.status;
}

const said = (method: string, kind: 'embedded' | 'drachtio'): number | undefined => {
  const decision = uncarried(method, kind, []);
  return decision?.kind === 'answer' ? decision.status : undefined;
};

it('leaves the methods we carry to the decision', () => {
  for (const method of ['INVITE', 'REGISTER', 'SUBSCRIBE', 'INFO', 'REFER'])
    expect(uncarried(method, 'embedded', [])).toBeUndefined();
});

it('says that drachtio-server drops a REFER, which we would carry', () => {
  expect(uncarried('REFER', 'drachtio', [])).toMatchObject({
    kind: 'drop',
    because: 'REFER outside of a dialog is told to no application: drachtio-server gives no answer',
  });
  expect(uncarried('SUBSCRIBE', 'drachtio', [])).toBeUndefined();
});

it('the embedded server answers what explain says of methods we do not carry', async () => {
  const server = await startEmbeddedServer({
    addresses: [{ address: '127.0.0.1', port: 0, transports: ['udp'] }],
    control: { host: '127.0.0.1', port: 0, secret: 'cymru' },
  });
  const link = createLink({ name: 'main', host: '127.0.0.1', port: server.controlPort, secret: 'cymru' });
  await untilConnected(link, 5000);
  const answers = await Promise.all(
    METHODS.map(async (method) => [method, await answerTo(method, server.addresses[0]?.port ?? 0)]),
  );
  await link.close();
  await server.close();
  expect(answers).toEqual(METHODS.map((method) => [method, said(method, 'embedded')]));
}, 30_000);

describeWith(['drachtio'], 'drachtio-server', () => {
  it('answers what explain says of methods we do not carry', async () => {
    const [sip, control] = [await freePort(), await freePort()];
    const server = await DrachtioProcess.start({
      controlPort: control,
      secret: 'cymru',
      contacts: [`sip:127.0.0.1:${sip};transport=udp`],
    });
    const link = createLink({ name: 'main', host: '127.0.0.1', port: control, secret: 'cymru' });
    await untilConnected(link, 5000);
    // We ask for REFER; it never tells of one outside of a dialog.
    const methods = [...METHODS, 'REFER'];
    const answers = await Promise.all(methods.map(async (method) => [method, await answerTo(method, sip)]));
    await link.close();
    await server.stop();
    expect(answers).toEqual(methods.map((method) => [method, said(method, 'drachtio')]));
  }, 30_000);
});
