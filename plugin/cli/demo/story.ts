import type { Checks } from './checks';
import type { SimulatedPhone } from './simulated-phone';
import type { Seen, SimulatedSite } from './simulated-site';
import type { World } from './world';

/** Phones that speak at the same time; more would only test the simulator. */
const AT_ONCE = 40;
const PHONES_PER_SYSTEM = 200;
const CALLS = 60;

/** What the demo does, in order; every expectation goes to `checks`. */
export async function tellStory(world: World, checks: Checks, say: (line: string) => void): Promise<void> {
  say('400 phones register, half of them in each system; their sites challenge them');
  const source = await world.phones('source', PHONES_PER_SYSTEM);
  const target = await world.phones('target', PHONES_PER_SYSTEM);
  checks.statuses(
    'registrations with a digest challenge succeed',
    await registerAll([...source, ...target]),
    200,
  );
  const homes = homesOf(world.sites);
  checks.expect(
    'every account registered with one site of its own system',
    allAtHome(world, homes),
    describe(homes),
  );
  checks.expect(
    'every retry with credentials reached the site that had sent the challenge',
    world.sites.every((site) => site.strayCredentials === 0),
    `${sum(world.sites.map((site) => site.strayCredentials))} stray`,
  );
  await calls(world, checks, say, source, homes);
  await special(world, checks, say);
  await maintenance(world, checks, say, target, homes);
}

async function calls(
  world: World,
  checks: Checks,
  say: (line: string) => void,
  phones: readonly SimulatedPhone[],
  homes: ReadonlyMap<string, string>,
): Promise<void> {
  say(`${CALLS} calls between accounts, and calls from a vendor to DIDs`);
  const callers = phones.slice(0, CALLS);
  const statuses = await inTurns(callers, (phone) => phone.call(world.account('source', 150)));
  checks.statuses('calls of accounts are answered and end well', statuses, 200);
  const astray = callers.filter((phone) => !callCameTo(world, phone.account, homes.get(phone.account)));
  checks.expect(
    "a call goes to the site where its caller's account lives",
    astray.length === 0,
    `${astray.length} astray`,
  );
  const before = world.counts();
  const toDids = await inTurns(world.dids, (did) => world.vendor.call(did.number));
  checks.statuses('calls of a vendor to DIDs are answered', toDids, 200);
  const after = world.counts();
  for (const system of ['source', 'target'] as const) {
    const wanted = world.dids.filter((did) => did.system === system).length;
    const got = invites(after, system) - invites(before, system);
    checks.expect(`DIDs of ${system} were called in ${system}`, got === wanted, `${got} of ${wanted}`);
  }
}

async function special(world: World, checks: Checks, say: (line: string) => void): Promise<void> {
  say('a phone behind NAT, a subscription, a message, a star, an unknown account');
  const hidden = await world.phone(world.account('target', 500), { believes: '10.11.12.13:5060' });
  checks.statuses('a phone behind NAT registers', [await hidden.register()], 200);
  const home = world.sites.find((site) => site.registrations.has(hidden.account));
  checks.statuses(
    'its site calls it through the flow it registered on',
    [(await home?.call(hidden.account, world.entry)) ?? 480],
    200,
  );
  checks.statuses('it calls and hangs up', [await hidden.call(world.account('target', 3))], 200);
  checks.statuses('it subscribes', [await hidden.subscribe(world.account('target', 3), 'dialog')], 202);
  const notified = await until(() => hidden.received.includes('NOTIFY'), 3000);
  checks.expect('the NOTIFY of its subscription reaches it', notified, hidden.received.join(' '));
  const open = await world.phone(world.account('source', 501));
  checks.statuses(
    'a phone with a public address subscribes',
    [await open.subscribe(world.account('source', 3), 'dialog')],
    202,
  );
  const direct = await until(() => open.received.includes('NOTIFY'), 3000);
  checks.expect('and gets its NOTIFY', direct, open.received.join(' '));
  checks.statuses(
    'a message with bytes beyond ASCII is delivered',
    [await open.message(world.account('source', 3), 'café 日本 📞')],
    200,
  );
  await open.register();
  checks.statuses('Contact: * takes all its registrations away', [await open.register('*')], 200);
  const stars = world.sites.flatMap((site) => site.starContacts);
  checks.expect(
    'the star arrived as it was sent',
    stars.join() === `${open.account} Expires: 0`,
    stars.join(),
  );
  const stranger = await world.phone('999999');
  checks.statuses('an account that no system has is refused', [await stranger.register()], 404);
}

async function maintenance(
  world: World,
  checks: Checks,
  say: (line: string) => void,
  phones: readonly SimulatedPhone[],
  homes: ReadonlyMap<string, string>,
): Promise<void> {
  say('target/main is taken out for an update');
  const out = await world.setSite('target', 'main', 'maintenance');
  const before = world.counts();
  checks.statuses('all its phones go on registering', await registerAll(phones), 200);
  const during = world.counts();
  const toMain = (during['target/main']?.['REGISTER'] ?? 0) - (before['target/main']?.['REGISTER'] ?? 0);
  checks.expect('nothing went to the site in maintenance', toMain === 0, `${toMain} requests`);
  say('and brought back');
  await out.back();
  checks.statuses('phones register', await registerAll(phones), 200);
  const returned = homesOf(world.sites);
  const moved = phones.filter((phone) => returned.get(phone.account) !== homes.get(phone.account));
  checks.expect(
    'every account is back at the site it had before',
    moved.length === 0,
    `${moved.length} moved`,
  );
}

const registerAll = (phones: readonly SimulatedPhone[]): Promise<number[]> =>
  inTurns(phones, (phone) => phone.register());

/** Runs over all items, at most AT_ONCE of them at the same time. */
async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<number>): Promise<number[]> {
  const results: number[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE)
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))));
  return results;
}

/** The site each account registered with last. */
function homesOf(sites: readonly SimulatedSite[]): ReadonlyMap<string, string> {
  const registers = sites.flatMap((site) =>
    site.seen
      .filter(({ method }) => method === 'REGISTER')
      .map((seen): Seen & { site: string } => ({ ...seen, site: site.name })),
  );
  registers.sort((a, b) => a.order - b.order);
  return new Map(registers.map(({ user, site }) => [user, site]));
}

function allAtHome(world: World, homes: ReadonlyMap<string, string>): boolean {
  const strayed = [...homes].filter(([account, site]) => world.systemOf(account) !== site.split('/')[0]);
  const twice = world.sites.some((site) =>
    site.seen.some((seen) => seen.method === 'REGISTER' && homes.get(seen.user) !== site.name),
  );
  return strayed.length === 0 && !twice;
}

function describe(homes: ReadonlyMap<string, string>): string {
  const counts = new Map<string, number>();
  for (const site of homes.values()) counts.set(site, (counts.get(site) ?? 0) + 1);
  return [...counts].map(([site, count]) => `${site} ${count}`).join(', ');
}

const callCameTo = (world: World, caller: string, home: string | undefined): boolean =>
  world.sites.every((site) =>
    site.seen.every((seen) => seen.method !== 'INVITE' || seen.from !== caller || site.name === home),
  );

const invites = (counts: Readonly<Record<string, Record<string, number>>>, system: string): number =>
  sum(
    Object.entries(counts).map(([site, methods]) =>
      site.startsWith(`${system}/`) ? (methods['INVITE'] ?? 0) : 0,
    ),
  );

const sum = (numbers: readonly number[]): number => numbers.reduce((total, value) => total + value, 0);

async function until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (!condition() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
  return condition();
}
