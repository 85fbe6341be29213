import { scanMessage } from './scan/message';

/**
 * Finds everything in a message that a route is found by, in one pass, and writes where it lies to an Int32Array that
 * JavaScript owns (scan/layout.ts). The native addon and scanMessage, its TypeScript twin, give the same on every
 * latin1 text. Returns how many numbers are used; more than `out` has means: again, with a larger one.
 */
export type HeaderScanner = (text: string, out: Int32Array) => number;

let scanner: HeaderScanner = scanMessage;

/** Swaps the scanner; without one, back to the twin. */
export function useScanner(next: HeaderScanner = scanMessage): void {
  scanner = next;
  scannedText = undefined;
}

let table = new Int32Array(1024);
let scannedText: string | undefined;

/**
 * The table of a message. There is one, shared by all messages and valid until the next call: nothing is allotted per
 * message, and a message whose table has been overwritten is scanned again, which costs less than keeping a copy.
 */
export function scan(text: string): Int32Array {
  if (text === scannedText) return table;
  scannedText = undefined;
  let used = scanner(text, table);
  if (used > table.length) {
    table = new Int32Array(Math.max(used, table.length * 2));
    used = scanner(text, table);
  }
  scannedText = text;
  return table;
}
