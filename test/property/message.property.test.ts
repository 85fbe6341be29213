import fc from 'fast-check';
import { buildRequest, buildResponse } from '../../plugin/message/build';
import { parseNameAddr, splitList } from '../../plugin/message/name-addr';
import { parseMessage } from '../../plugin/message/parse';
import type { SipMessage } from '../../plugin/message/sip-message';
import { formatUri, parseUri } from '../../plugin/message/uri';
import { checkRequest, checkResponse } from '../../plugin/message/validate';
import { formatVia, parseVia } from '../../plugin/message/via';
import { handedFiles } from '../fixtures/sip-files';
import { mutations } from '../fixtures/mutations';

/** Asks a message for everything it can say. */
function readAll(message: SipMessage): unknown[] {
  const { vias, via, from, to, contacts, callId, cseq, maxForwards, expires, contentLength, body } = message;
  const check = message.kind === 'request' ? checkRequest(message, 'stream') : checkResponse(message);
  return [vias, via, from, to, contacts, callId, cseq, maxForwards, expires, contentLength, body, check];
}

const bytes = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) });
const sipish = fc.string({ unit: fc.constantFrom(...'sip:tel@[]<>";,=?%41\\ \t\r\nVia/2.0UDP*'.split('')) });

describe('reading hostile text', () => {
  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.oneof(bytes, sipish), (text) => {
        for (const raw of [
          text,
          `OPTIONS sip:a SIP/2.0\r\nVia: ${text}\r\nTo:${text}\r\nContact: ${text}\r\n\r\n`,
        ]) {
          const { message } = parseMessage(raw);
          if (message !== undefined) readAll(message);
        }
        parseUri(text);
        parseVia(text);
        parseNameAddr(text);
        splitList(text);
      }),
      { numRuns: 3000 },
    );
  });

  it('never throws on mutated messages, and an answer to what can be answered is well formed', () => {
    for (const raw of mutations(
      handedFiles().map((file) => file.raw),
      1,
      5000,
    )) {
      const result = parseMessage(raw);
      if (result.message === undefined) continue;
      readAll(result.message);
      if (result.message.kind !== 'request') continue;
      const answer = parseMessage(buildResponse(result.message, { status: 400, toTag: 't' }));
      expect(answer.ok && answer.message.status).toBe(400);
    }
  });

  it.each([
    ['quotes', '"'.repeat(60000)],
    ['escapes', '\\'.repeat(60000)],
    ['brackets', '<'.repeat(60000)],
    ['blanks', ' '.repeat(60000)],
    ['semicolons', ';a'.repeat(30000)],
    ['commas', ','.repeat(60000)],
    ['folds', '\r\n '.repeat(20000)],
    ['colons', ':'.repeat(60000)],
    ['CR', '\r'.repeat(60000)],
    ['LF', '\n'.repeat(60000)],
    ['headers', '\r\nX: y'.repeat(12000)],
    ['nested', '"<,'.repeat(20000)],
  ])('takes time in proportion to the length of many %s', (_, text) => {
    const start = performance.now();
    const raw = `OPTIONS sip:${text} SIP/2.0\r\nVia: ${text}\r\nFrom: ${text}\r\nContact: ${text}\r\nCSeq: ${text}\r\n\r\n`;
    const { message } = parseMessage(raw);
    if (message !== undefined) readAll(message);
    parseUri(`sip:${text}`);
    parseNameAddr(text);
    parseVia(text);
    // A quadratic reader needs many seconds here; a linear one a few milliseconds.
    expect(performance.now() - start).toBeLessThan(5000);
  });
});

describe('writing', () => {
  const token = fc.string({
    unit: fc.constantFrom(...'abcXYZ019-.!%*_+'.split('')),
    minLength: 1,
    maxLength: 12,
  });

  it('a URI that was read is written as the same URI', () => {
    fc.assert(
      fc.property(sipish, (text) => {
        const uri = parseUri(`sip:${text}`);
        if (uri !== undefined) expect(parseUri(formatUri(uri))).toEqual(uri);
      }),
      { numRuns: 5000 },
    );
  });

  it('a Via that was read is written as the same Via', () => {
    fc.assert(
      fc.property(token, bytes, (name, text) => {
        const value = text.replace(/[\r\n]/g, ' ');
        const via = parseVia(`SIP/2.0/UDP h;${name}="${value.replace(/[\\"]/g, '\\$&')}"`);
        expect(parseVia(formatVia(via!))?.params).toEqual([[name, value]]);
      }),
    );
  });

  it('a request is read back with its headers and body', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(token, token)), bytes, (fields, body) => {
        const headers = fields.filter(([name]) => !/^(l|content-length)$/i.test(name));
        const result = parseMessage(buildRequest({ method: 'X', uri: 'sip:h', headers, body }));
        expect(result.ok && result.message.body).toBe(body);
        expect(
          result.ok && result.message.headers.slice(0, -1).map(({ name, value }) => [name, value]),
        ).toEqual(headers);
      }),
    );
  });
});
