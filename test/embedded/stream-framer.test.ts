import { bodyLength, StreamFramer } from '../../plugin/embedded/transport/stream-framer';

const collect = (limit = 10_000) => {
  const seen: string[] = [];
  const framer = new StreamFramer(limit, {
    message: (text) => seen.push(`message ${text.length}`),
    ping: () => seen.push('ping'),
    broken: (reason) => seen.push(`broken: ${reason}`),
  });
  return { seen, framer };
};

const message = (body: string): string =>
  `OPTIONS sip:a SIP/2.0\r\nCall-ID: 1\r\nl: ${body.length}\r\n\r\n${body}`;

describe('the framing of a stream', () => {
  it('cuts messages by Content-Length, however the bytes are chopped', () => {
    const text = `${message('hello')}\r\n\r\n${message('')}\r\n${message('x\r\n\r\ny')}`;
    const whole = collect();
    whole.framer.push(Buffer.from(text));
    const chopped = collect();
    for (const byte of Buffer.from(text)) chopped.framer.push(Buffer.from([byte]));
    expect(whole.seen).toEqual([
      `message ${message('hello').length}`,
      'ping',
      `message ${message('').length}`,
      `message ${message('x\r\n\r\ny').length}`,
    ]);
    expect(chopped.seen).toEqual(whole.seen);
    expect(chopped.framer.unfinished).toBe(false);
  });

  it('answers a ping that shares its segment with a request (H20)', () => {
    const { seen, framer } = collect();
    framer.push(Buffer.from(`\r\n\r\n${message('')}`));
    expect(seen).toEqual(['ping', `message ${message('').length}`]);
  });

  it('tells once of the pings that come in one piece, and again of those in the next', () => {
    const { seen, framer } = collect();
    framer.push(Buffer.from(`${'\r\n\r\n'.repeat(16_384)}${message('')}\r\n\r\n`));
    framer.push(Buffer.from('\r\n\r\n'));
    expect(seen).toEqual(['ping', `message ${message('').length}`, 'ping']);
  });

  it.each([
    ['l: 2147483648', 'Content-Length over the limit'],
    ['l: -1', 'Content-Length is not a number'],
    ['l: 5\r\nContent-Length: 6', 'two different Content-Length'],
    ['Subject: none', 'no Content-Length on a stream'],
    ['l: 9999', 'message over the limit'],
  ])('gives up on %s', (line, reason) => {
    const { seen, framer } = collect(10_000);
    framer.push(Buffer.from(`OPTIONS sip:a SIP/2.0\r\n${line}\r\n\r\n`));
    framer.push(Buffer.from(message('')));
    expect(seen).toEqual([`broken: ${reason}`]);
  });

  it('gives up on a head without end, at the limit', () => {
    const { seen, framer } = collect(1_000);
    for (let i = 0; i < 20; i += 1) framer.push(Buffer.from(`X-${i}: ${'a'.repeat(90)}\r\n`));
    expect(seen).toEqual(['broken: message over the limit']);
  });

  it('reads a folded Content-Length', () => {
    expect(bodyLength('A: b\r\nContent-Length:\r\n 12\r\n\r\n', 100)).toBe(12);
  });
});
