/** A key longer than this cannot be in a registry, so it is never asked for; it is never cut either. */
export const MAX_KEY_LENGTH = 512;

/** User parts beyond this are answered 414 (RFC 3261 §21.4.12). */
export const MAX_USER_LENGTH = 1024;

/** Parameters that belong to a telephone number in a user part (RFC 3966, 4694, 4904) and not to a name. */
const NUMBER_PARAMETERS = new Set([
  'cic',
  'cpc',
  'ext',
  'isub',
  'isub-encoding',
  'npdi',
  'oli',
  'phone-context',
  'postd',
  'rn',
  'rn-context',
  'tgrp',
  'trunk-context',
]);

// What may stand before the first digit is no digit: else a long user that is none would be searched once per digit.
const NUMBER = /^\+?[A-Da-d().-]*[0-9*#][0-9A-Da-d*#().-]*$/;
const GLOBAL = /^\+[().-]*[0-9][0-9().-]*$/;
const SEPARATORS = /[().-]/g;
const ESCAPE = /%([0-9A-Fa-f]{2})/g;
/** RFC 3261 §25.1 unreserved, and the plus sign, which many phones escape though they need not. */
const UNESCAPABLE = /[A-Za-z0-9\-_.!~*'()+]/;
const PLAIN = /^[A-Za-z0-9_]+$|^\+[0-9]+$/;

/** Undoes percent-escapes of characters that need none (RFC 3261 §19.1.4: equal to their plain form); all others stay. */
function unescapeNeedless(text: string): string {
  return text.replace(ESCAPE, (escape, hex: string) => {
    const char = String.fromCharCode(parseInt(hex, 16));
    return UNESCAPABLE.test(char) ? char : escape;
  });
}

/**
 * The form of a user part that is looked up. A telephone number loses visual separators (RFC 3966 §5.1.1) and its
 * parameters (`;npdi`, `;rn=…`: RFC 4694); a name stays as it is, in its own case, parameters included. Nothing else
 * is cut, so a long user never equals a shorter one.
 * @param user as it stands in the URI
 * @param isPhone the URI says it is a number: `tel:`, or `;user=phone`
 */
export function normaliseUser(user: string, isPhone: boolean): string {
  if (PLAIN.test(user)) return user;
  const plain = user.includes('%') ? unescapeNeedless(user) : user;
  const semicolon = plain.indexOf(';');
  let number = plain;
  if (semicolon >= 0) {
    number = plain.slice(0, semicolon);
    if (!NUMBER.test(number)) return plain;
    if (!isPhone && !hasOnlyNumberParameters(plain, semicolon)) return plain;
  }
  if (GLOBAL.test(number) || (isPhone && NUMBER.test(number))) return number.replace(SEPARATORS, '');
  return number;
}

function hasOnlyNumberParameters(user: string, from: number): boolean {
  return user
    .slice(from + 1)
    .split(';')
    .every((parameter) => {
      const [name = ''] = parameter.split('=', 1);
      return NUMBER_PARAMETERS.has(name.toLowerCase());
    });
}

const E164_WITH_PLUS = /^\+([1-9][0-9]{6,14})$/;
const E164_WITHOUT_PLUS = /^[1-9][0-9]{6,14}$/;

/**
 * The same international number written the other way, with or without its plus sign; undefined if it can't be one.
 * Short numbers have no second form: 4930 is an extension, not a cut +4930.
 */
export function otherSpelling(number: string): string | undefined {
  const withPlus = E164_WITH_PLUS.exec(number);
  if (withPlus !== null) return withPlus[1];
  return E164_WITHOUT_PLUS.test(number) ? `+${number}` : undefined;
}
