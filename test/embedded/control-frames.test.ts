import { milliseconds, parseCommand, parseCommandMessage } from '../../plugin/embedded/control/command';
import { FrameReader, frameText } from '../../plugin/embedded/control/frame';

describe('the frames of the control protocol', () => {
  it('count bytes, and carry any byte', () => {
    const bytes = Buffer.from([0, 255, 254, 128, 35, 13, 10]);
    const text = `id|sip||\r\n${bytes.toString('latin1')}`;
    const stream = Buffer.from(frameText(text) + frameText('second'), 'latin1');
    for (const size of [1, 3, stream.length]) {
      const seen: string[] = [];
      const reader = new FrameReader(1000);
      for (let at = 0; at < stream.length; at += size)
        expect(reader.push(stream.subarray(at, at + size), (m) => seen.push(m))).toBeUndefined();
      expect(seen).toEqual([text, 'second']);
    }
  });

  it.each(['abc#x', '#x', '0#', '99999999#x', '2000#x', '12345678'])('refuse %s', (text) => {
    expect(new FrameReader(1000).push(Buffer.from(text), () => undefined)).toMatch(/^a frame/);
  });

  it('hold orders to the server apart from headers', () => {
    const parsed = parseCommandMessage(
      'INVITE sip:a SIP/2.0\r\nX-A: 1\r\nx-dsbc-failover: 503\r\nno name\r\nSubject: a\r\n  b\r\n\r\nbody\r\n\r\nmore',
    );
    expect(parsed).toMatchObject({
      lines: [
        { name: 'X-A', value: '1' },
        { name: 'Subject', key: 'subject', value: 'a b' },
      ],
      body: 'body\r\n\r\nmore',
    });
    expect(typeof parsed === 'object' && parsed.orders.get('failover')).toBe('503');
  });

  it('refuse a bare line end inside a header', () => {
    expect(parseCommandMessage('INVITE sip:a SIP/2.0\r\nX: a\nP-Asserted-Identity: b\r\n\r\n')).toMatch(
      /bare/,
    );
  });

  it('split into id, name, tokens and text', () => {
    expect(parseCommand('1|proxy|t||full\r\nrest\r\n')).toEqual({
      id: '1',
      name: 'proxy',
      tokens: ['t', '', 'full'],
      text: 'rest\r\n',
    });
  });

  it.each([
    ['2s', 2000],
    ['1500ms', 1500],
    ['700', 700],
    ['', undefined],
    ['soon', undefined],
    ['0s', undefined],
  ])('read a time %s', (text, expected) => expect(milliseconds(text)).toBe(expected));
});
