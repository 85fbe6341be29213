import { types } from 'node:util';

/** Fields whose value is never written. Compared in lower case, without `-` and `_`. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'authorization',
  'proxyauthorization',
  'password',
  'secret',
  'token',
  'cookie',
]);

/** Fields that hold a telephone number or an account, alone or as the user part of a URI. */
const NUMBER_FIELDS: ReadonlySet<string> = new Set([
  'from',
  'to',
  'account',
  'did',
  'user',
  'aor',
  'contact',
  'uri',
  'requesturi',
  'key',
  'value',
  'caller',
  'called',
  'number',
]);

/** Fields that must stay whole, so that lines of one call can be found. */
const WHOLE_FIELDS: ReadonlySet<string> = new Set(['callid', 'id', 'time', 'node', 'address']);

const REDACTED = '[redacted]';
/** Nothing that is logged is deeper; what is, is cut rather than searched. */
const MAX_DEPTH = 5;

// Header lines in the text of a SIP message, folded ones too.
const CREDENTIAL_LINES = /^((?:proxy-)?authorization)[ \t]*:.*(?:\r?\n[ \t].*)*/gim;

/** Makes the function that cleans what is logged: credentials always, numbers if they are to be masked. */
export function redactor(maskNumbers: boolean): (fields: Record<string, unknown>) => Record<string, unknown> {
  const cleanFields = (fields: Record<string, unknown>, depth: number): Record<string, unknown> => {
    const clean: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(fields)) clean[name] = cleanValue(name, value, depth);
    return clean;
  };
  const cleanValue = (name: string, value: unknown, depth: number): unknown => {
    const plain = name.toLowerCase().replace(/[-_]/g, '');
    if (SECRET_FIELDS.has(plain) && value !== undefined && value !== null) return REDACTED;
    if (typeof value === 'string') return cleanText(plain, value);
    if (typeof value !== 'object' || value === null || types.isNativeError(value)) return value;
    if (depth >= MAX_DEPTH) return '[deep]';
    if (Array.isArray(value)) return value.map((item) => cleanValue(name, item, depth + 1));
    return cleanFields(value as Record<string, unknown>, depth + 1);
  };
  const cleanText = (plain: string, text: string): string => {
    const safe = /authorization/i.test(text) ? text.replace(CREDENTIAL_LINES, `$1: ${REDACTED}`) : text;
    if (!maskNumbers || WHOLE_FIELDS.has(plain)) return safe;
    return NUMBER_FIELDS.has(plain) ? maskUser(safe) : maskLong(safe);
  };
  return (fields) => cleanFields(fields, 0);
}

/** Masks the digits before the `@`, or all of them if there is none; addresses stay readable. */
function maskUser(text: string): string {
  const at = text.lastIndexOf('@');
  const user = at < 0 ? text : text.slice(0, at);
  return user.replace(/\d{3,}/g, maskDigits) + (at < 0 ? '' : text.slice(at));
}

/** In other text only what is too long for a port, a year or a status is taken for a number. */
function maskLong(text: string): string {
  return text.replace(/\d{7,}/g, maskDigits);
}

/** The first and the last two digits remain; of four or fewer none does. */
export function maskDigits(digits: string): string {
  if (digits.length <= 4) return '*'.repeat(digits.length);
  return `${digits.slice(0, 2)}${'*'.repeat(digits.length - 4)}${digits.slice(-2)}`;
}
