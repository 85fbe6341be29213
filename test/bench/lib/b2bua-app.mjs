// Relays each INVITE to one callee as two dialogs; the embedded SIP server runs in the same process unless a control
// port is given. Asked by a message, it tells what it holds.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const dist = process.env.DSBC_DIST ?? '../../../dist';
const { createLink } = require(`${dist}/link/create-link.js`);
const { Carrier } = require(`${dist}/relay/carrier.js`);
const { silentLogger } = require(`${dist}/telemetry/logger.js`);
const { startEmbeddedServer } = require(`${dist}/embedded`);

const { callee, silent, address, port, controlPort } = JSON.parse(process.argv[2]);
const server =
  controlPort === undefined
    ? await startEmbeddedServer({
        addresses: [{ address, port, transports: ['udp', 'tcp'] }],
        control: { port: 0, secret: 'cymru' },
      })
    : undefined;
const link = createLink({
  name: 'main',
  host: '127.0.0.1',
  port: server?.controlPort ?? controlPort,
  secret: 'cymru',
});
const carrier = await Carrier.open({ log: silentLogger, now: () => performance.now() });
let carrying = 0;
const results = {};

link.onRequest(async (request) => {
  // As the call path does: what belongs to a dialog that is over.
  if (/;\s*tag=/i.test(request.message.get('to') ?? '')) {
    await link.respond(request, { status: 481 });
    return;
  }
  carrying++;
  try {
    const isFailover = /^sip:failover@/.test(request.message.uri);
    const result = await carrier.carry(request, {
      relay: 'b2bua',
      requestUri: 'sip:callee@example.com',
      targets: [...(isFailover ? [silent] : []), callee].map((uri) => ({ uri })),
      limits: { timeoutMs: isFailover ? 1000 : 8000, maxAttempts: 2, totalMs: 30_000, onSilence: true },
      headers: {},
      onPath: true,
    });
    results[result.kind] = (results[result.kind] ?? 0) + 1;
  } finally {
    carrying--;
  }
});
link.onState((state) => {
  if (state === 'connected') process.send({ ready: true });
});

process.on('message', (asked) => {
  if (asked.collect) globalThis.gc?.();
  const { heapUsed } = process.memoryUsage();
  process.send({
    id: asked.id,
    carrying,
    bridges: carrier.bridges,
    legs: link.dialogs,
    ...link.load,
    ...(server === undefined ? {} : { server: server.counts() }),
    results,
    heapMiB: Math.round(heapUsed / 104857.6) / 10,
  });
});
process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(1));
