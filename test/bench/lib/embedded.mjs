// The embedded SIP server as a process of its own, to compare it with drachtio-server under the same app.
// usage: node embedded.mjs ADDRESS PORT CONTROL_PORT
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { startEmbeddedServer } = require('../../../dist/embedded');
const [address, port, controlPort] = process.argv.slice(2);
const server = await startEmbeddedServer({
  addresses: [{ address, port: Number(port), transports: ['udp', 'tcp'] }],
  control: { port: Number(controlPort), secret: 'cymru' },
});
console.log('ready');
process.once('SIGTERM', () => void server.close());
