import { readFileSync, existsSync } from 'node:fs';
import tseslint from 'typescript-eslint';
import importX from 'eslint-plugin-import-x';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';

// rooms.json is the one table of allowed imports: room -> rooms it may import from.
const rooms = JSON.parse(readFileSync(new URL('./rooms.json', import.meta.url), 'utf8'));
const location = (room) =>
  existsSync(new URL(`./plugin/${room}.ts`, import.meta.url)) ? `./plugin/${room}.ts` : `./plugin/${room}`;
const zones = Object.entries(rooms).map(([room, allowed]) => ({
  target: location(room),
  from: './plugin',
  except: [room, ...allowed].flatMap((name) => [`./${name}`, `./${name}.ts`]),
  message: `The room '${room}' may import only from: ${allowed.join(', ') || 'nothing'} (rooms.json).`,
}));

export default tseslint.config(
  {
    ignores: [
      'dist',
      '.dist-*',
      'build',
      'prebuilds',
      'coverage',
      'node_modules',
      'scripts',
      '*.mjs',
      '*.cjs',
      '**/*.cjs',
      '**/*.mjs',
    ],
  },
  {
    files: ['plugin/**/*.ts', 'test/**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { project: './tsconfig.test.json', tsconfigRootDir: import.meta.dirname },
    },
    plugins: { 'import-x': importX },
    settings: {
      'import-x/resolver-next': [createTypeScriptImportResolver({ project: './tsconfig.test.json' })],
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-properties': [
        'error',
        { property: 'createB2BUA', message: 'createB2BUA loses answers and dialogs: use the dialog relay.' },
      ],
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
    },
  },
  {
    files: ['plugin/**/*.ts'],
    rules: {
      'import-x/no-restricted-paths': ['error', { zones }],
      'no-restricted-syntax': [
        'error',
        {
          selector: "MemberExpression[object.name='process'][property.name='env']",
          message: 'Only config/ reads the environment.',
        },
      ],
    },
  },
  { files: ['plugin/config/**/*.ts'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['plugin/**/*.ts'],
    ignores: ['plugin/link/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        { paths: [{ name: 'drachtio-srf', message: 'Only link/ imports drachtio-srf.' }] },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
);
