import { normaliseUser, otherSpelling } from '../../plugin/routing/number';

describe('normaliseUser', () => {
  it.each([
    ['H12: a tel number with separators', '+1-202-555-0123', true, '+12025550123'],
    ['brackets and dots', '+1(202)555.0123', true, '+12025550123'],
    ['a global number without user=phone', '+1-202-555-0123', false, '+12025550123'],
    ['H25: npdi and rn with user=phone', '+12025550123;npdi;rn=+12025550199', true, '+12025550123'],
    ['npdi and rn without user=phone', '+12025550123;npdi;rn=+12025550199', false, '+12025550123'],
    ['a name with a parameter of its own', 'alice;day=tuesday', false, 'alice;day=tuesday'],
    ['digits with an unknown parameter: never cut', '1001;x=1', false, '1001;x=1'],
    ['digits with an unknown parameter, said to be a phone', '1001;x=1', true, '1001'],
    ['a name with a dash', 'john-smith', false, 'john-smith'],
    ['a name with a dash, wrongly said to be a phone', 'john-smith', true, 'john-smith'],
    ['digits with a dash are a name unless said otherwise', '1001-2', false, '1001-2'],
    ['needless escapes', '%31001', false, '1001'],
    ['an escaped plus', '%2B12025550123', false, '+12025550123'],
    ['escapes that are needed stay', 'a%40b', false, 'a%40b'],
    ['a lone percent stays', '%', false, '%'],
    ['case counts', 'ALICE', false, 'ALICE'],
    ['a service code', '*98', true, '*98'],
  ])('%s', (_, user, isPhone, key) => {
    expect(normaliseUser(user, isPhone)).toBe(key);
  });

  it('H11: 240 digits stay 240 digits', () => {
    const long = '90' + '120255509'.repeat(27).slice(0, 238);
    expect(normaliseUser(long, true)).toHaveLength(240);
  });
});

describe('otherSpelling', () => {
  it.each([
    ['+12025550123', '12025550123'],
    ['12025550123', '+12025550123'],
    ['4930', undefined],
    ['+4930', undefined],
    ['alice', undefined],
    ['012025550123', undefined],
    ['1'.repeat(240), undefined],
  ])('%s', (number, other) => {
    expect(otherSpelling(number)).toBe(other);
  });
});
