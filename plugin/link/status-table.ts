import { reasonPhrase } from '../message/build';
import { libraryStatusTable } from './srf';

/**
 * Completes drachtio-srf's status table for every code from 100 to 699: `res.send` of the library throws on
 * one it lacks (607, 555, 608, 699 and more), and inside a dialog the caller would then get no answer at all.
 * Once per process; idempotent.
 */
export function extendStatusTable(): void {
  for (let status = 100; status < 700; status++) {
    libraryStatusTable[status] ??= reasonPhrase(status);
  }
}
