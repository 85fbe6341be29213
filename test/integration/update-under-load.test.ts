import { figure, isFull } from '../fixtures/load/figures';
import { bySite, pause } from '../fixtures/load/phones';
import { UpdateLab } from '../fixtures/load/update-lab';
import { describeWith, type Need } from '../fixtures/needs';
import type { ServerKind } from '../fixtures/ha/program-lab';

/** DSBC_LOAD=full: 200 registrations (each challenged) and 100 calls per second. */
const LOAD = isFull ? { registrations: 200, calls: 100 } : { registrations: 30, calls: 15 };
/** How long the "work by hand" takes, with a site or an instance out. */
const WORK_MS = isFull ? 5000 : 500;

const KINDS: readonly (readonly [ServerKind, readonly Need[]])[] = [
  ['embedded', ['netns']],
  ['drachtio', ['netns', 'drachtio']],
];

for (const [kind, needs] of KINDS) {
  describeWith(needs, `an update without downtime, ${kind} server`, () => {
    let lab: UpdateLab;
    beforeAll(async () => {
      lab = await UpdateLab.create(kind);
    }, 60_000);
    afterAll(() => lab.close());

    it('of two sites and two instances, by the commands, under load: nothing fails', async () => {
      lab.phones.start({ registrations: 50, calls: 50, limit: 100 });
      expect(bySite(await lab.phones.stop())).not.toHaveProperty('503');
      lab.phones.start(LOAD);
      await pause(1000);

      const said = [await lab.update(lab.active, 'plan')];
      const steps = (
        JSON.parse(lab.status()) as { steps: { kind: string; site?: string; instance?: string }[] }
      ).steps;
      expect(steps.map(({ kind: step }) => step)).toEqual([
        ...['site_out', 'site_back', 'instance_out', 'instance_back', 'instance_out', 'instance_back'],
        ...['site_out', 'site_back'],
      ]);
      const first = lab.active;
      for (const { kind: step, site = '', instance = '' } of steps) {
        // The plan goes on where the active instance is, or was: the file is the same.
        const on = step === 'instance_back' ? lab.instance(instance) : lab.active;
        said.push(await lab.updateOnceReady(on));
        if (step === 'site_out') {
          await lab.site(site).kill();
          await pause(WORK_MS);
          await lab.site(site).start();
        }
        if (step === 'instance_out') {
          await lab.isOut(instance);
          await lab.restart(lab.instance(instance));
          await pause(WORK_MS);
        }
        await pause(500);
      }
      expect(said.at(-1)).toContain('The update is complete');
      // The virtual IP moved once.
      expect(lab.active.name).not.toBe(first.name);
      const sent = await lab.phones.stop();
      const failed = sent.filter(({ status }) => status !== 200);
      const counts = Object.fromEntries(
        await Promise.all(lab.sites.map(async (site) => [site.name, await site.counts()] as const)),
      );
      figure(`show 3: update of two sites and two instances (${kind})`, {
        ...LOAD,
        registrationsSent: sent.filter(({ method }) => method === 'REGISTER').length,
        callsSent: sent.filter(({ method }) => method === 'INVITE').length,
        failed: failed.length,
        repeated: sent.filter(({ tries }) => tries > 1).length,
        worstMs: Math.round(Math.max(...sent.map(({ sentAt, finalAt }) => finalAt - sentAt))),
        sites: bySite(sent),
      });
      expect(
        failed.map(({ method, status, sentAt, tries }) => `${method} ${status} at ${sentAt}, ${tries} tries`),
      ).toEqual([]);
      expect(sent.length).toBeGreaterThan(200);
      // A challenge was never answered at the site that did not make it.
      for (const name of Object.keys(counts)) expect(counts[name]).not.toHaveProperty('strange nonces');
    }, 240_000);
  });
}
