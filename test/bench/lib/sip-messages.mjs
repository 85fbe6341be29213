// The messages that parsing is measured on, as they come off the wire: flat strings of one byte a char.

const message = (lines, body, size) => {
  const text = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1').toString('latin1');
  if (text.length !== size) throw new Error(`${lines[0]} has ${text.length} bytes, not ${size}`);
  return text;
};

/** 810 bytes: a phone registers again, with outbound (RFC 5626) and credentials. */
export const register = message(
  [
    'REGISTER sip:registrar.example.com;transport=udp SIP/2.0',
    'Via: SIP/2.0/UDP 192.0.2.33:5060;branch=z9hG4bK-524287-1---3c8a7b5e2d9f6a41;rport',
    'Max-Forwards: 70',
    'Contact: <sip:+12025550123@192.0.2.33:5060;transport=udp>;+sip.instance="<urn:uuid:00000000-0000-1000-8000-00a0c9000001>";reg-id=1;expires=3600',
    'To: "Front Desk" <sip:+12025550123@registrar.example.com>',
    'From: "Front Desk" <sip:+12025550123@registrar.example.com>;tag=8f3b2c71',
    'Call-ID: 97076YmJlZDk4NWFhZGFhNjQ4YjE0MDYz',
    'CSeq: 2 REGISTER',
    'Allow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER, NOTIFY, MESSAGE',
    'Supported: path, outbound, gruu',
    'User-Agent: ExamplePhone 5.8.3-102',
    'Authorization: Digest username="12025550123",realm="example.com",nonce="4f2a",uri="sip:registrar.example.com",response="0a1b2c3d4e5f60718293a4b5c6d7e8f9"',
    'Content-Length: 0',
  ],
  '',
  810,
);

const sdp = [
  'v=0',
  'o=- 3871234567 1 IN IP4 192.0.2.33',
  's=-',
  'c=IN IP4 192.0.2.33',
  't=0 0',
  'm=audio 40000 RTP/AVP 0 8 9 18 101',
  ...['0 PCMU/8000', '8 PCMA/8000', '9 G722/8000', '18 G729/8000', '101 telephone-event/8000'].map(
    (map) => `a=rtpmap:${map}`,
  ),
  'a=fmtp:101 0-16',
  'a=ptime:20',
  'a=sendrecv',
  ...Array.from(
    { length: 17 },
    (_, i) => `a=candidate:${i} 1 UDP ${2130706431 - i} 192.0.2.33 ${40000 + i} typ host`,
  ),
  '',
].join('\r\n');

/** 2,500 bytes: a call that came through another proxy, with a body. */
export const invite = message(
  [
    'INVITE sip:+12025550199@example.com;user=phone SIP/2.0',
    'Via: SIP/2.0/UDP 203.0.113.40:5060;branch=z9hG4bK-d8754z-a1b2c3d4e5f6a7b8-1---d8754z-',
    'Via: SIP/2.0/TCP 192.0.2.33:5060;branch=z9hG4bK-d8754z-0011223344556677-1---d8754z-;received=203.0.113.7;rport=40812',
    'Record-Route: <sip:203.0.113.40;lr;ftag=8f3b2c71>',
    'Max-Forwards: 69',
    'Contact: <sip:+12025550123@192.0.2.33:5060;transport=tcp>;+g.3gpp.icsi-ref="urn%3Aurn-7%3A3gpp-service.ims.icsi.mmtel"',
    'To: <sip:+12025550199@example.com;user=phone>',
    'From: "Front Desk" <sip:+12025550123@example.com>;tag=8f3b2c71',
    'Call-ID: 97076YmJlZDk4NWFhZGFhNjQ4YjE0MDYzZjRkYWNmZjg',
    'CSeq: 1 INVITE',
    'Allow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER, NOTIFY, MESSAGE, SUBSCRIBE, INFO, UPDATE, PRACK',
    'Supported: replaces, norefersub, extended-refer, timer, outbound, path, gruu',
    'User-Agent: ExamplePhone 5.8',
    'Session-Expires: 1800;refresher=uac',
    'Min-SE: 120',
    'P-Asserted-Identity: "Front Desk" <sip:+12025550123@example.com>',
    'Privacy: id',
    'History-Info: <sip:+12025550100@example.com>;index=1, <sip:+12025550199@example.com;cause=302>;index=1.1',
    'Accept: application/sdp, application/isup, application/dtmf, multipart/mixed',
    'P-Early-Media: supported',
    'Content-Type: application/sdp',
    `Content-Length: ${sdp.length}`,
  ],
  sdp,
  2500,
);
