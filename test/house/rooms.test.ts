import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const rooms = JSON.parse(readFileSync('rooms.json', 'utf8')) as Record<string, string[]>;

describe('the table of rooms', () => {
  it('names every room of plugin/ and no other', () => {
    const there = readdirSync('plugin').map((name) => name.replace(/\.ts$/, ''));
    expect(there.filter((name) => !(name in rooms))).toEqual([]);
  });

  it('has no circle', () => {
    const visit = (room: string, path: readonly string[]): void => {
      if (path.includes(room)) throw new Error(`circle: ${[...path, room].join(' -> ')}`);
      for (const next of rooms[room] ?? []) visit(next, [...path, room]);
    };
    expect(() => Object.keys(rooms).forEach((room) => visit(room, []))).not.toThrow();
  });

  it('is told in ARCHITECTURE.md, room by room', () => {
    const text = readFileSync('ARCHITECTURE.md', 'utf8');
    const told = [...text.matchAll(/^\| `(\w+)(?:\/|\.ts)` /gm)].map((match) => match[1] ?? '');
    expect(told.sort()).toEqual(Object.keys(rooms).sort());
  });

  it('is the source of the picture in ARCHITECTURE.md', () => {
    expect(() =>
      execFileSync(process.execPath, ['scripts/architecture.mjs', '--check'], { stdio: 'pipe' }),
    ).not.toThrow();
  });
});
