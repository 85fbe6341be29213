import { createSocket } from 'node:dgram';
import { captured, SipCapture, type Captured } from '../../plugin/link/capture';
import { silentLogger } from '../../plugin/telemetry/logger';
import { freePort } from '../fixtures/sip-endpoint';

/** A HEP version 3 packet as drachtio-server sends it: addresses, what else there is, and the message. */
function hep(message: string, before: readonly (readonly [type: number, data: Buffer])[] = []): Buffer {
  const chunk = (type: number, data: Buffer): Buffer => {
    const head = Buffer.alloc(6);
    head.writeUInt16BE(type, 2);
    head.writeUInt16BE(6 + data.length, 4);
    return Buffer.concat([head, data]);
  };
  const chunks = Buffer.concat([
    chunk(1, Buffer.from([2])),
    chunk(3, Buffer.from([192, 0, 2, 1])),
    ...before.map(([type, data]) => chunk(type, data)),
    chunk(15, Buffer.from(message, 'latin1')),
  ]);
  const head = Buffer.alloc(6);
  head.write('HEP3', 'latin1');
  head.writeUInt16BE(6 + chunks.length, 4);
  return Buffer.concat([head, chunks]);
}

const CANCEL = [
  'CANCEL sip:1002@example.com SIP/2.0',
  'Via: SIP/2.0/UDP 192.0.2.33:5060;rport;branch=z9hG4bK-1;received=192.0.2.1',
  'v: SIP/2.0/UDP 192.0.2.34;branch=z9hG4bK-0',
  'From: <sip:1001@example.com>;tag=f1',
  'Call-ID: c1@example.net',
  'CSeq: 1 CANCEL',
  '',
  '',
].join('\r\n');

describe('copies of SIP messages', () => {
  it('tell of a CANCEL: Call-ID, and the branch of its top Via', () => {
    expect(captured(hep(CANCEL))).toEqual({ kind: 'cancel', callId: 'c1@example.net', branch: 'z9hG4bK-1' });
    expect(captured(hep(CANCEL, [[17, Buffer.from('an id')]]))).toBeDefined();
    expect(captured(hep(CANCEL.replace('Via:', 'v :').replace('Call-ID', 'i')))).toEqual({
      kind: 'cancel',
      callId: 'c1@example.net',
      branch: 'z9hG4bK-1',
    });
  });

  it('tell of an INVITE that was sent on: the branch of its second Via', () => {
    const sent = CANCEL.replaceAll('CANCEL', 'INVITE');
    const relayed = { kind: 'relayed', branch: 'z9hG4bK-0' };
    expect(captured(hep(sent))).toEqual(relayed);
    expect(captured(hep(sent.replace('\r\nv: ', ', ')))).toEqual(relayed);
    // As it came from the caller; and what stands in a body is no header.
    const first = sent.replace(/\r\nv:[^\r]*/, '');
    expect(captured(hep(first))).toBeUndefined();
    expect(captured(hep(`${first}v=0\r\nv: x;branch=z9hG4bK-0\r\n`))).toBeUndefined();
  });

  it('of other messages, and what is no such packet, say nothing', () => {
    for (const packet of [
      hep(CANCEL.replace('CANCEL sip', 'BYE sip')),
      hep('SIP/2.0 200 OK\r\nCSeq: 1 CANCEL\r\n\r\n'),
      hep('CANCEL '),
      Buffer.from(CANCEL),
      Buffer.alloc(0),
      Buffer.from('HEP3'),
      hep(CANCEL).subarray(0, 60),
      Buffer.concat([Buffer.from('HEP3\0\0', 'latin1'), Buffer.alloc(40)]),
    ])
      expect(captured(packet)).toBeUndefined();
  });

  it('are heard on a loopback port', async () => {
    const port = await freePort();
    let capture: SipCapture | undefined;
    const heard = new Promise<Captured>((resolve) => {
      capture = new SipCapture(port, resolve, silentLogger);
    });
    const socket = createSocket('udp4');
    const timer = setInterval(() => socket.send(hep(CANCEL), port, '127.0.0.1'), 20);
    expect(await heard).toMatchObject({ callId: 'c1@example.net' });
    clearInterval(timer);
    socket.close();
    capture?.close();
  });
});
