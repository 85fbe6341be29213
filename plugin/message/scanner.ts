import { scanMessage } from './scan/message';

/**
 * Finds everything in a message that a route is found by, in one pass, and writes where it lies to the table it was made
 * for (scan/layout.ts). The native addon and scanMessage, its TypeScript twin, give the same on every latin1 text.
 * Returns how many numbers are used; more than the table has means: again, with a scanner for a larger one.
 */
export type HeaderScanner = (text: string) => number;

/** Makes a scanner for a table of at least HEAD.SIZE numbers. */
export type ScannerFor = (table: Int32Array) => HeaderScanner;

/** The TypeScript twin of the addon's. */
export const twinScannerFor: ScannerFor = (table) => (text) => scanMessage(text, table);

let scannerFor = twinScannerFor;
let table = new Int32Array(1024);
let scanner = scannerFor(table);
let scannedText: string | undefined;

/** Swaps the scanner; without one, back to the twin. */
export function useScanner(next: ScannerFor = twinScannerFor): void {
  scannerFor = next;
  scanner = scannerFor(table);
  scannedText = undefined;
}

/**
 * The table of a message. There is one, shared by all messages and valid until the next call: nothing is allotted per
 * message, and a message whose table has been overwritten is scanned again, which costs less than keeping a copy.
 */
export function scan(text: string): Int32Array {
  if (text === scannedText) return table;
  scannedText = undefined;
  const used = scanner(text);
  if (used > table.length) {
    table = new Int32Array(Math.max(used, table.length * 2));
    scanner = scannerFor(table);
    scanner(text);
  }
  scannedText = text;
  return table;
}
