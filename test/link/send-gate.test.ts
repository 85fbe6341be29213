import { SendGate } from '../../plugin/link/send-gate';

describe('commands behind a large one', () => {
  it('wait until the server has replied to it, and keep their order', () => {
    const written: string[] = [];
    const gate = new SendGate((bytes) => written.push(bytes.toString('latin1', 0, 1)));
    const large = (name: string): Buffer => Buffer.from(name.padEnd(5000, '.'));
    gate.send('a', Buffer.from('a'));
    gate.send('b', large('b'));
    gate.send('c', Buffer.from('c'));
    gate.send('d', large('d'));
    gate.send('e', Buffer.from('e'));
    expect(written).toEqual(['a', 'b']);
    gate.replied('a');
    expect(written).toEqual(['a', 'b']);
    gate.replied('b');
    expect(written).toEqual(['a', 'b', 'c', 'd']);
    gate.replied('d');
    expect(written).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
