import type { DialogLink } from '../../plugin/link/sip-dialog';
import { IDLE, Scripted } from './scripted';

describe('a request that opens a dialog', () => {
  let lab: Scripted;
  beforeEach(async () => {
    lab = await Scripted.start();
    await lab.open();
  });
  afterEach(() => lab.stop());

  it('is cancelled when the server takes it only after it was given up', async () => {
    const opening = (lab.link as DialogLink).openDialog({
      method: 'INVITE',
      uri: 'sip:1002@example.com',
      headers: [['From', '<sip:a@example.com>;tag=1']],
      nextHop: 'sip:127.0.0.9:5060',
      timeoutMs: 5000,
    });
    const command = await lab.server.nextSip();
    // Longer than the link waits.
    expect(await opening.outcome).toMatchObject({ kind: 'transport_error' });
    const id = lab.server.accepted(command);
    const cancel = await lab.server.nextSip();
    expect(cancel.message).toMatch(/^CANCEL sip:1002@example\.com SIP/);
    expect(cancel.tokens[0]).toBe(id);
    lab.server.accepted(cancel);
    expect((await lab.load()).commands).toBe(IDLE.commands);
  });
});
