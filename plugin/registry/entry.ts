import { DsbcError } from '../errors';
import { KEY_KINDS, OPERATOR_STATES } from './registry';
import type { Customer, OperatorDecision, RegistryEntry, RegistryKey } from './registry';

/** Longest key or name, in UTF-8 bytes: well under what LMDB takes (1978) and far over what people dial. */
export const MAX_NAME_BYTES = 1024;

const fault = (what: string, field: string, expected: string, found: unknown): DsbcError =>
  new DsbcError('DSBC_REGISTRY_INVALID', `${what}: ${field} must be ${expected}`, {
    details: { field, expected, found: typeof found === 'string' ? found.slice(0, 80) : typeof found },
  });

/** Control characters are no part of a SIP user or a name, and would break lines and fields of files. */
const UNSAFE = new RegExp('[\\u0000-\\u001f\\u007f]');

const isName = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length > 0 &&
  // A character is at most three bytes per UTF-16 unit: the exact count is needed only for long ones.
  (value.length * 3 <= MAX_NAME_BYTES || Buffer.byteLength(value) <= MAX_NAME_BYTES) &&
  !UNSAFE.test(value);

const NAME = `a text of 1 to ${MAX_NAME_BYTES} bytes without control characters, and without blanks at its ends`;

/** Blanks at the ends are a slip of who wrote the file: no request and no configuration has them. */
export const isNewName = (value: unknown): value is string => isName(value) && value === value.trim();

function checkNames(what: string, fields: Readonly<Record<string, unknown>>, optional: boolean): void {
  for (const [field, value] of Object.entries(fields)) {
    if (optional && value === undefined) continue;
    if (!isNewName(value)) throw fault(what, field, NAME, value);
  }
}

/** Whether a key can be stored at all; one that can't is simply unknown when looked up. */
export const isStorableKey = (key: RegistryKey): boolean => isName(key.value);

/** Throws DSBC_REGISTRY_INVALID with the field, what was expected and what was found. */
export function checkEntry(entry: RegistryEntry): void {
  const { kind, value, system, account, site, customer, blocked } = entry;
  if (!KEY_KINDS.includes(kind)) throw fault('entry', 'kind', `one of ${KEY_KINDS.join(', ')}`, kind);
  checkNames('entry', { value, system }, false);
  checkNames('entry', { account, site, customer }, true);
  if (blocked !== undefined && typeof blocked !== 'boolean') {
    throw fault('entry', 'blocked', 'true or false', blocked);
  }
}

/** Throws DSBC_REGISTRY_INVALID. */
export function checkCustomer(customer: Customer): void {
  const { id, source, target, exported } = customer;
  checkNames('customer', { id, source, target }, false);
  if (typeof exported !== 'boolean') throw fault('customer', 'exported', 'true or false', exported);
  if (source === target) throw fault('customer', 'target', 'another system than source', target);
}

/** Throws DSBC_REGISTRY_INVALID. */
export function checkDecision(decision: OperatorDecision): void {
  const { system, site, node, state } = decision;
  checkNames('decision', { system, site }, false);
  checkNames('decision', { node }, true);
  if (!OPERATOR_STATES.includes(state)) {
    throw fault('decision', 'state', `one of ${OPERATOR_STATES.join(', ')}`, state);
  }
}

/** The same entry with only the known fields, absent ones left out, frozen: what stores keep and give back. */
export function plainEntry(entry: RegistryEntry): RegistryEntry {
  const { kind, value, system, account, site, customer, blocked } = entry;
  return Object.freeze({
    kind,
    value,
    system,
    ...(account === undefined ? {} : { account }),
    ...(site === undefined ? {} : { site }),
    ...(customer === undefined ? {} : { customer }),
    ...(blocked === true ? { blocked } : {}),
  });
}
