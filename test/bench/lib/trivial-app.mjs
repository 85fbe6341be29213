// The floor a drachtio app can reach: proxy everything to one of two destinations, no logic.
// usage: node trivial-app.mjs CONTROL_PORT DESTINATION DESTINATION
import Srf from 'drachtio-srf';

const [port, ...destinations] = process.argv.slice(2);
const srf = new Srf();
let turn = 0;
const proxy = (req) => {
  turn = (turn + 1) % destinations.length;
  req
    .proxy({ destination: destinations[turn], recordRoute: false, provisionalTimeout: '2s' })
    .catch(() => undefined);
};
for (const verb of ['register', 'invite', 'options', 'message']) srf[verb](proxy);
srf.connect({ host: '127.0.0.1', port: Number(port), secret: 'cymru' });
srf.on('connect', () => console.log('connected'));
srf.on('error', () => undefined);
