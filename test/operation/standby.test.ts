import { OrderRefused } from '../../plugin/admin/operation';
import type { Group, GroupStatus } from '../../plugin/ha/group';
import { refuseUnlessActive } from '../../plugin/operation/group';

const groupIn = (state: string, peer: string): Pick<Group, 'status'> => ({
  status: () =>
    Promise.resolve({ state, peers: [{ instance: 'dsbc-2', state: peer }] } as unknown as GroupStatus),
});

describe("an operator's word about a site", () => {
  it('is refused by a standby whose registry is its own, with the name of the active', async () => {
    const said = refuseUnlessActive(groupIn('STANDBY', 'ACTIVE'), 'lmdb');
    await expect(said).rejects.toThrow(OrderRefused);
    await expect(said).rejects.toThrow('This instance is STANDBY');
    await expect(said).rejects.toThrow('say it on dsbc-2, which is active.');
    await expect(refuseUnlessActive(groupIn('FAULT', 'STANDBY'), 'memory')).rejects.toThrow(
      'nobody is active',
    );
  });

  it('is taken by the active, where the registry is shared, and by an instance that stands alone', async () => {
    await refuseUnlessActive(groupIn('ACTIVE', 'STANDBY'), 'lmdb');
    await refuseUnlessActive(groupIn('STANDBY', 'ACTIVE'), 'cassandra');
    await refuseUnlessActive(undefined, 'lmdb');
  });
});
