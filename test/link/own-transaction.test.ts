import type { SipLink } from '../../plugin/link/sip-link';
import { answerText, requestText } from '../fixtures/messages';
import { IDLE, Scripted } from './scripted';

describe('an own transaction', () => {
  let lab: Scripted;
  beforeEach(async () => {
    lab = await Scripted.start();
    await lab.open();
  });
  afterEach(() => lab.stop());

  const send = (timeoutMs = 1000, signal?: AbortSignal): ReturnType<SipLink['request']> =>
    lab.link.request({
      method: 'REGISTER',
      uri: 'sip:example.com',
      headers: [['Call-ID', 'c']],
      nextHop: 'sip:127.0.0.9:5060',
      body: '\x00\xff',
      timeoutMs,
      ...(signal ? { signal } : {}),
    });

  it('carries headers and body byte for byte and gives back the answer', async () => {
    const outcome = send();
    const command = await lab.server.nextSip();
    expect(command.tokens).toEqual(['', '', 'sip:127.0.0.9:5060']);
    expect(command.message.endsWith('Content-Length: 2\r\n\r\n\x00\xff')).toBe(true);
    const id = lab.server.accepted(command);
    lab.server.answer(id, answerText(requestText(), 100));
    lab.server.answer(id, answerText(requestText(), 200, ['X-A: 1', 'X-A: 2'], '\x80\x00'));
    const got = await outcome;
    if (got.kind !== 'answer') throw new Error(got.kind);
    expect(got.status).toBe(200);
    expect(got.message.getAll('x-a')).toEqual(['1', '2']);
    expect(got.message.body).toBe('\x80\x00');
    expect(got.source.address).toBe('127.0.0.9');
    expect(await lab.load()).toEqual(IDLE);
  });

  it('takes an answer without a source for the server’s own: 503 was not sent, 408 timed out', async () => {
    const failed = send();
    const from = { address: '' };
    lab.server.answer(lab.server.accepted(await lab.server.nextSip()), answerText(requestText(), 503), from);
    expect(await failed).toMatchObject({ kind: 'transport_error', status: 503 });
    const silent = send();
    lab.server.answer(lab.server.accepted(await lab.server.nextSip()), answerText(requestText(), 408), from);
    expect(await silent).toEqual({ kind: 'timeout' });
  });

  it('takes an answer with lines that cannot be read without them, and one with nothing else for silence', async () => {
    const first = send();
    const lines = ['Digest no colon', 'X-A: 1'];
    lab.server.answer(lab.server.accepted(await lab.server.nextSip()), answerText(requestText(), 200, lines));
    const got = await first;
    if (got.kind !== 'answer') throw new Error(got.kind);
    expect([got.status, got.message.get('x-a')]).toEqual([200, '1']);
    const bare = send();
    const text = answerText(requestText(), 486).replace(/^SIP.*/, 'SIP/2.0 486');
    lab.server.answer(lab.server.accepted(await lab.server.nextSip()), text);
    expect(await bare).toMatchObject({ kind: 'answer', status: 486 });
    const second = send();
    const spoilt = 'SIP/2.0 200 OK\r\nnothing here\r\n\r\n';
    lab.server.answer(lab.server.accepted(await lab.server.nextSip()), spoilt);
    expect(await second).toEqual({ kind: 'timeout' });
  });

  it('ends at its deadline, and a late answer does nothing', async () => {
    const outcome = send(60);
    const id = lab.server.accepted(await lab.server.nextSip());
    expect(await outcome).toEqual({ kind: 'timeout' });
    lab.server.answer(id, answerText(requestText(), 200));
    expect(await lab.load()).toEqual(IDLE);
    expect(lab.link.state).toBe('connected');
  });

  it('can be abandoned', async () => {
    const controller = new AbortController();
    const outcome = send(1000, controller.signal);
    lab.server.accepted(await lab.server.nextSip());
    controller.abort();
    expect(await outcome).toEqual({ kind: 'aborted' });
    expect(await lab.load()).toEqual(IDLE);
  });

  it('is told to the server as abandoned where that is a capability', async () => {
    await lab.link.close();
    lab.server.greeting.push('dsbc-embedded;caps=cancel_own');
    await lab.open();
    const outcome = send(60);
    const id = lab.server.accepted(await lab.server.nextSip());
    expect(await outcome).toEqual({ kind: 'timeout' });
    const cancel = await lab.server.nextSip();
    expect(cancel.tokens[0]).toBe(id);
    expect(cancel.message).toMatch(/^CANCEL sip:example\.com SIP\/2\.0\r\nX-Dsbc-Abandon: yes\r\n/);
  });

  it('says why the server refused it', async () => {
    const outcome = send();
    lab.server.reply(await lab.server.nextSip(), 'NOK|can not send request to myself');
    expect(await outcome).toEqual({ kind: 'transport_error', reason: 'can not send request to myself' });
  });

  it('ends when the link is lost, taken by the server or not', async () => {
    const taken = send();
    lab.server.accepted(await lab.server.nextSip());
    const asked = send();
    await lab.server.nextSip();
    lab.server.dropConnections();
    expect(await taken).toEqual({ kind: 'link_lost' });
    expect(await asked).toEqual({ kind: 'link_lost' });
    expect(await send()).toEqual({ kind: 'link_lost' });
  });

  it('ends when the server never takes it', async () => {
    const outcome = send(5000);
    await lab.server.nextSip();
    expect(await outcome).toMatchObject({ kind: 'transport_error' });
  });

  it('survives an answer with a line that has no colon', async () => {
    const outcome = send();
    const id = lab.server.accepted(await lab.server.nextSip());
    lab.server.answer(id, answerText(requestText(), 200, ['Digest username="90"']));
    await outcome;
    expect(lab.link.state).toBe('connected');
  });

  it.each([
    ['a bare line end in a header', { headers: [['X', 'a\nP-Asserted-Identity: b']] as const }],
    ['a NUL in a header', { headers: [['X', 'a\u0000b']] as const }],
    ['a header name that is no token', { headers: [['X Y', 'a']] as const }],
    ['a line end in the Request-URI', { uri: 'sip:a@b SIP/2.0\r\nX: y' }],
    ['a separator in the next hop', { nextHop: 'sip:a|b@192.0.2.1' }],
  ])('is refused with %s', async (_name, part) => {
    const request = { method: 'MESSAGE', uri: 'sip:a@b', headers: [], timeoutMs: 100, ...part };
    await expect(lab.link.request(request)).rejects.toMatchObject({ code: 'DSBC_HEADER_UNSAFE' });
    expect(lab.server.commands.some((command) => command.verb === 'sip')).toBe(false);
  });

  it('never carries an order to the server that a stranger wrote', async () => {
    const answer = lab.link.request({
      method: 'MESSAGE',
      uri: 'sip:a@b',
      headers: [
        ['X-Dsbc-Entry', '192.0.2.1:5060'],
        ['Subject', 's'],
      ],
      timeoutMs: 50,
    });
    const command = await lab.server.nextSip();
    expect(command.message).not.toMatch(/x-dsbc/i);
    expect(command.message).toContain('Subject: s\r\n');
    await answer;
  });
});
