// Draws the picture of ARCHITECTURE.md from rooms.json. `--check` only says whether it is current.
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../ARCHITECTURE.md', import.meta.url);
const rooms = JSON.parse(readFileSync(new URL('../rooms.json', import.meta.url), 'utf8'));
/** Rooms nearly everybody may use would only blur the picture. */
const everywhere = new Set(['errors', 'telemetry', 'config', 'message']);

export function picture() {
  const lines = Object.entries(rooms).flatMap(([room, allowed]) =>
    allowed.filter((other) => !everywhere.has(other)).map((other) => `  ${room} --> ${other}`),
  );
  return ['```mermaid', 'flowchart TD', ...lines, '```'].join('\n');
}

const BEGIN = '<!-- rooms: begin -->';
const END = '<!-- rooms: end -->';
const text = readFileSync(file, 'utf8');
const start = text.indexOf(BEGIN) + BEGIN.length;
const wanted = `${text.slice(0, start)}\n\n${picture()}\n\n${text.slice(text.indexOf(END))}`;
if (process.argv.includes('--check')) {
  if (wanted !== text) {
    console.error(
      'ARCHITECTURE.md: the picture does not match rooms.json; run node scripts/architecture.mjs',
    );
    process.exit(1);
  }
} else {
  writeFileSync(file, wanted);
}
