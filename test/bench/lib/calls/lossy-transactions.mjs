// SIP over a UDP socket that loses packets, both ways; transactions as RFC 3261 §17 has them, written without the
// product's own code.
import { createSocket } from 'node:dgram';
import { token } from './random.mjs';

const T1 = 500;
const T2 = 4000;
/** 64 × T1. */
export const GIVE_UP_MS = 32_000;

/** A message as `{ method | status, uri, headers, body }`; undefined when it can't be read. */
export function read(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first, ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    const long = COMPACT[name] ?? name;
    const list = headers.get(long) ?? [];
    list.push(line.slice(colon + 1).trim());
    headers.set(long, list);
  }
  const get = (name) => headers.get(name)?.[0];
  const [sequence, method] = (get('cseq') ?? '').split(/\s+/);
  const message = { text, get, all: (name) => headers.get(name) ?? [], body: text.slice(end + 4) };
  Object.assign(message, {
    sequence: Number(sequence),
    branch: /;branch=([^;,\s]+)/i.exec(get('via') ?? '')?.[1],
  });
  if (first.startsWith('SIP/2.0 '))
    return Object.assign(message, { status: Number(first.slice(8, 11)), method });
  return Object.assign(message, { method: first.split(' ')[0], uri: first.split(' ')[1] });
}
const COMPACT = {
  v: 'via',
  f: 'from',
  t: 'to',
  i: 'call-id',
  m: 'contact',
  l: 'content-length',
  c: 'content-type',
};

export const tagOf = (value) => /;\s*tag=([^;,\s]+)/i.exec(value ?? '')?.[1];

export function write(first, headers, body = '') {
  return `${first}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** An answer to a request, without the tag it already has. */
export function answerText(request, status, reason, { tag, headers = [], body = '' } = {}) {
  const to = request.get('to');
  return write(
    `SIP/2.0 ${status} ${reason}`,
    [
      ...request.all('via').map((via) => ['Via', via]),
      ['From', request.get('from')],
      ['To', tagOf(to) === undefined && tag !== undefined ? `${to};tag=${tag}` : to],
      ['Call-ID', request.get('call-id')],
      ['CSeq', request.get('cseq')],
      ...request.all('record-route').map((route) => ['Record-Route', route]),
      ...headers,
    ],
    body,
  );
}

/** One socket, its transactions, and its losses. What is new goes to `onRequest(message, transaction)` and `onAck`. */
export class LossyTransactions {
  counts = { sent: 0, received: 0, lost: 0, repeated: 0 };
  #clients = new Map();
  #servers = new Map();
  #timers = new Set();

  static async open({ address, loss, random }) {
    const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
    await new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(0, address, resolve);
    });
    return new LossyTransactions(socket, address, loss, random);
  }

  constructor(socket, address, loss, random) {
    Object.assign(this, { socket, loss, random, hostport: `${address}:${socket.address().port}` });
    this.onRequest = () => undefined;
    this.onAck = () => undefined;
    socket.on('message', (bytes, { address: host, port }) => {
      if (this.#isLost()) return;
      this.counts.received++;
      const message = read(bytes.toString('latin1'));
      if (message !== undefined) this.#take(message, { host, port });
    });
    socket.on('error', () => undefined);
  }

  /** Transactions under way. */
  get size() {
    return this.#clients.size + this.#servers.size;
  }

  send(text, { host, port }) {
    this.counts.sent++;
    if (!this.#isLost()) this.socket.send(Buffer.from(text, 'latin1'), port, host, () => undefined);
  }

  newBranch() {
    return `z9hG4bK${token(this.random)}`;
  }

  /**
   * Sends a request until it is answered. `onAnswer(message | undefined)`: each answer, a repeated 2xx to INVITE too;
   * undefined when none came.
   */
  request(text, to, onAnswer) {
    const { method, branch } = read(text);
    const key = `${branch} ${method}`;
    const client = {
      text,
      to,
      method,
      onAnswer,
      final: undefined,
      ack: undefined,
      wait: T1,
      timer: undefined,
      isProceeding: false,
    };
    this.#clients.set(key, client);
    this.send(text, to);
    const again = () => {
      if (client.final !== undefined || (method === 'INVITE' && client.isProceeding)) return;
      this.counts.repeated++;
      this.send(text, to);
      client.wait = method === 'INVITE' ? client.wait * 2 : Math.min(T2, client.wait * 2);
      client.timer = this.after(client.wait, again);
    };
    client.timer = this.after(T1, again);
    // An INVITE that rings may do so for long: then only what follows it ends it.
    this.after(GIVE_UP_MS, () => {
      if (client.final === undefined && !client.isProceeding)
        this.#end(this.#clients, key, client, () => onAnswer(undefined));
    });
    return { end: () => this.#end(this.#clients, key, client) };
  }

  /** Timers that end with the socket. */
  after(milliseconds, action) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, milliseconds);
    this.#timers.add(timer);
    return timer;
  }

  stop(timer) {
    clearTimeout(timer);
    this.#timers.delete(timer);
  }

  close() {
    for (const timer of this.#timers) clearTimeout(timer);
    this.socket.close();
  }

  #end(table, key, entry, then) {
    if (entry.timer !== undefined) this.stop(entry.timer);
    if (table.get(key) !== entry) return;
    table.delete(key);
    then?.();
  }

  #isLost() {
    if (this.random() >= this.loss) return false;
    this.counts.lost++;
    return true;
  }

  #take(message, from) {
    if (message.status !== undefined) this.#takeAnswer(message);
    else if (message.method === 'ACK') this.#takeAck(message);
    else if (message.method === 'CANCEL') this.#takeCancel(message, from);
    else this.#takeRequest(message, from);
  }

  #takeAnswer(message) {
    const key = `${message.branch} ${message.method}`;
    const client = this.#clients.get(key);
    if (client === undefined) return;
    const isRepeated = client.final !== undefined;
    if (message.status < 200) {
      client.isProceeding = true;
      if (!isRepeated) client.onAnswer(message);
      return;
    }
    const isInvite = client.method === 'INVITE';
    if (!isRepeated) {
      client.final = message.status;
      if (client.timer !== undefined) this.stop(client.timer);
      this.after(isInvite ? GIVE_UP_MS : T2 + 1000, () => this.#end(this.#clients, key, client));
    }
    if (isInvite && message.status >= 300) {
      const original = read(client.text);
      const lines = ['Via', 'From', 'To', 'Call-ID'].map((name) => [
        name,
        (name === 'To' ? message : original).get(name.toLowerCase()),
      ]);
      this.send(
        write(`ACK ${original.uri} SIP/2.0`, [
          ...lines,
          ['CSeq', `${original.sequence} ACK`],
          ['Max-Forwards', '70'],
        ]),
        client.to,
      );
    }
    if (!isRepeated || (isInvite && message.status < 300)) client.onAnswer(message);
  }

  #takeRequest(message, from) {
    const key = `${message.branch} ${message.method}`;
    const known = this.#servers.get(key);
    if (known !== undefined) {
      if (known.answer !== undefined) this.send(known.answer, from);
      return;
    }
    const server = {
      message,
      from,
      answer: undefined,
      status: undefined,
      tag: token(this.random),
      wait: T1,
      timer: undefined,
      cancelled: () => undefined,
    };
    this.#servers.set(key, server);
    server.respond = (status, reason, parts = {}) => this.#respond(key, server, status, reason, parts);
    this.onRequest(message, server);
  }

  #respond(key, server, status, reason, parts) {
    if (server.status >= 200) return false;
    server.status = status;
    server.answer = answerText(server.message, status, reason, { tag: server.tag, ...parts });
    this.send(server.answer, server.from);
    if (status < 200) return true;
    const isInvite = server.message.method === 'INVITE';
    this.after(GIVE_UP_MS, () => this.#end(this.#servers, key, server, isInvite ? parts.onNoAck : undefined));
    if (!isInvite) return true;
    const again = () => {
      this.counts.repeated++;
      this.send(server.answer, server.from);
      server.wait = Math.min(T2, server.wait * 2);
      server.timer = this.after(server.wait, again);
    };
    server.timer = this.after(T1, again);
    return true;
  }

  /** The ACK of a failure has the INVITE's branch; that of a 2xx belongs to whoever knows the dialog. */
  #takeAck(message) {
    const server = this.#servers.get(`${message.branch} INVITE`);
    if (server === undefined) this.onAck(message);
    else this.acknowledged(server);
  }

  /** No more repeating of a final answer, nor complaint that it is not acknowledged. */
  acknowledged(server) {
    this.stop(server.timer);
    this.#end(this.#servers, `${server.message.branch} INVITE`, server);
  }

  #takeCancel(message, from) {
    const server = this.#servers.get(`${message.branch} INVITE`);
    this.send(
      answerText(message, server ? 200 : 481, server ? 'OK' : 'Call/Transaction Does Not Exist', {
        tag: server?.tag ?? 'none',
      }),
      from,
    );
    if (server !== undefined && !(server.status >= 200)) server.cancelled();
  }
}
