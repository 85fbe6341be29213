import { editorSchema } from '../../plugin/config/json-schema';
import { configKeys, configReference } from '../../plugin/config/reference';
import { fillBlock, itIsCurrent } from '../fixtures/generated';

describe('the documented configuration', () => {
  itIsCurrent('config-examples/dsbc.schema.json', () => JSON.stringify(editorSchema()));
  itIsCurrent('docs/config.md', (before) => fillBlock(before, 'keys', configReference()));

  it('says of every key what it means', () => {
    expect(configKeys().filter((key) => key.meaning === '')).toEqual([]);
  });

  it('says what a key is required with, where that may itself be left out', () => {
    const fallback = (path: string) => configKeys().find((key) => key.path === path)?.fallback;
    expect(fallback('systems.<name>.sites')).toBe('required');
    expect(fallback('registry.driver')).toBe('required with `registry`');
    expect(fallback('registry.path')).toBe('required with `lmdb`');
    expect(fallback('ha.group')).toBe('required with `ha`');
    expect(fallback('registry.keyspace')).toBe('dsbc');
  });

  it('marks every secret', () => {
    const secrets = configKeys().filter((key) => key.type === 'secret');
    expect(secrets.map((key) => key.path)).toEqual([
      'sip_servers[].control.secret',
      'registry.password',
      'nat.keys[].secret',
      'ha.key',
      'admin.token',
    ]);
  });
});
