/**
 * The live page: sites with their shares and real traffic, the group, calls per second, the cache. It has no data of
 * its own: it asks for the token (kept in this tab only) and reads /v1/live as a stream.
 */
export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>dsbc</title>
<style>
:root { color-scheme: light dark; --line: #8884; --ok: #2a8; --warn: #c80; --bad: #c33; }
body { font: 15px/1.4 system-ui, sans-serif; margin: 1.5rem auto; max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.2rem; margin: 0; } h2 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; }
.tiles { display: flex; gap: 1rem; flex-wrap: wrap; margin-top: 1rem; }
.tile { border: 1px solid var(--line); border-radius: 6px; padding: .5rem .9rem; min-width: 7rem; }
.tile b { display: block; font-size: 1.4rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; }
.bar { display: inline-block; height: .6em; background: var(--ok); border-radius: 2px; vertical-align: middle; margin-right: .5em; }
.s { padding: 0 .5em; border-radius: 1em; border: 1px solid; }
.ok { color: var(--ok); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.muted { opacity: .65; }
form { margin: 2rem 0; } input { font: inherit; padding: .3rem .5rem; width: 22rem; max-width: 100%; } button { font: inherit; padding: .3rem .8rem; }
</style>
</head>
<body>
<header><h1 id="instance">dsbc</h1><span id="state" class="muted">connecting</span><span id="detail" class="muted"></span></header>
<form id="login" hidden>
  <label>Token <input id="token" type="password" autocomplete="off"></label> <button>Show</button>
  <p id="refused" class="bad"></p>
</form>
<main id="main" hidden>
  <div class="tiles" id="tiles"></div>
  <h2>Sites</h2>
  <table><thead><tr><th>System</th><th>Site</th><th>State</th><th class="n">Share</th><th>Share now</th><th class="n">Requests/s</th><th class="n">Requests</th><th>Nodes</th></tr></thead><tbody id="sites"></tbody></table>
  <section id="group" hidden><h2>Group</h2><p id="groupState"></p>
  <table><thead><tr><th>Instance</th><th>State</th><th>Heard</th><th class="n">Links</th></tr></thead><tbody id="peers"></tbody></table></section>
  <h2>SIP servers</h2>
  <table><thead><tr><th>Name</th><th>Entry address</th><th>State</th><th>Trouble</th></tr></thead><tbody id="servers"></tbody></table>
</main>
<script>
'use strict';
const $ = (id) => document.getElementById(id);
const el = (tag, text, cls) => { const e = document.createElement(tag); e.textContent = text; if (cls) e.className = cls; return e; };
const row = (...cells) => { const tr = document.createElement('tr'); for (const c of cells) { const td = document.createElement('td'); if (c instanceof Node) td.append(c); else { td.textContent = c; if (typeof c === 'number' || /^[\\d.]+( %)?$/.test(c)) td.className = 'n'; } tr.append(td); } return tr; };
const sum = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);
const stateClass = (s) => ({ active: 'ok', connected: 'ok', ACTIVE: 'ok', drain: 'warn', maintenance: 'warn' }[s] || (/down|lost|FAULT|unheard/.test(s) ? 'bad' : ''));
const badge = (s) => el('span', s, 's ' + stateClass(s));
const percent = (share) => (share * 100).toFixed(1) + ' %';
let before = null;
function show(data) {
  const { status, sites, cache, flows, group } = data;
  const now = performance.now();
  const seconds = before ? (now - before.at) / 1000 : 0;
  const rate = (key, value) => seconds > 0 && before.counts[key] !== undefined ? ((value - before.counts[key]) / seconds).toFixed(1) : '';
  const counts = { invite: status.requests.INVITE || 0, all: sum(status.requests) };
  $('instance').textContent = status.instance;
  $('state').textContent = status.ready ? 'ready' : 'not ready: ' + status.reasons.join('; ');
  $('state').className = status.ready ? 'ok' : 'bad';
  $('detail').textContent = 'version ' + status.version + ', up ' + Math.round(status.uptime_s) + ' s';
  const hits = (cache.events.hit || 0) + (cache.events.negative_hit || 0);
  const lookups = hits + (cache.events.miss || 0) + (cache.events.coalesced || 0) + (cache.events.stale_if_error || 0) + (cache.events.stale_while_revalidate || 0);
  const tile = (value, label) => { const d = el('div', label, 'tile'); d.prepend(el('b', value === '' ? '\\u2013' : value)); return d; };
  $('tiles').replaceChildren(
    tile(rate('invite', counts.invite), 'calls/s'), tile(rate('all', counts.all), 'requests/s'),
    tile(status.in_flight, 'under way'), tile(flows.bindings, 'registrations'),
    tile(lookups ? percent(hits / lookups) : '', 'cache hits'), tile(cache.entries, 'cached'),
    tile(status.registry.up ? 'up' : 'away', status.registry.driver + (status.registry.up ? '' : ': ' + status.registry.trouble)));
  $('sites').replaceChildren(...sites.map((site) => {
    const total = sum(site.requests); const key = site.system + '/' + site.site; counts[key] = total;
    const share = el('span', percent(site.share_now)); const bar = el('span', '', 'bar'); bar.style.width = site.share_now * 8 + 'em'; share.prepend(bar);
    const nodes = document.createElement('span');
    for (const node of site.nodes) { const n = el('span', node.uri.replace(/^sip:/, '') + ' ', stateClass(node.state)); n.title = node.state + ' ' + node.reason; nodes.append(n); }
    const state = badge(site.state); if (site.operator) state.title = site.operator.by + ', ' + site.operator.at + ': ' + site.operator.why;
    return row(site.system, site.site, state, percent(site.share_configured), share, rate(key, total), total, nodes);
  }));
  $('group').hidden = !group;
  if (group) {
    $('groupState').replaceChildren(badge(group.state), ' ' + group.vips.join(', ') + (group.holds_vips ? ' held here' : '') + ' ' + group.alarms.map((a) => a.name + ' ' + a.about).join(', '));
    $('groupState').className = group.alarms.length ? 'bad' : '';
    $('peers').replaceChildren(...group.peers.map((p) => row(p.instance, badge(p.state), p.heard_ms_ago === null ? 'never' : Math.round(p.heard_ms_ago) + ' ms ago', p.active_links)));
  }
  $('servers').replaceChildren(...status.sip_servers.map((s) => row(s.name, s.address + ':' + s.port, badge(s.state), s.trouble)));
  before = { at: now, counts };
}
async function listen() {
  const token = sessionStorage.getItem('token');
  let response;
  try { response = await fetch('/v1/live', { headers: { accept: 'text/event-stream', ...(token ? { authorization: 'Bearer ' + token } : {}) } }); }
  catch { return again('no answer'); }
  if (response.status === 401) { $('login').hidden = false; $('main').hidden = true; $('refused').textContent = token ? 'This token is not accepted.' : ''; $('state').textContent = 'a token is needed'; return; }
  if (!response.ok) return again('status ' + response.status);
  $('login').hidden = true; $('main').hidden = false;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      text += value;
      let end;
      while ((end = text.indexOf('\\n\\n')) >= 0) {
        const data = text.slice(0, end).split('\\n').filter((l) => l.startsWith('data:')).map((l) => l.slice(5)).join('\\n');
        text = text.slice(end + 2);
        if (data) show(JSON.parse(data));
      }
    }
  } catch { /* the instance is gone */ }
  again('connection lost');
}
function again(why) { $('state').textContent = why + ', trying again'; $('state').className = 'bad'; before = null; setTimeout(listen, 1000); }
$('login').addEventListener('submit', (event) => { event.preventDefault(); sessionStorage.setItem('token', $('token').value); $('token').value = ''; listen(); });
listen();
</script>
</body>
</html>
`;
