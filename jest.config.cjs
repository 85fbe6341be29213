/** Newer releases of the cookie package that fastify uses are ES modules: swc turns them into CommonJS too. */
module.exports = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  transform: {
    '^.+\\.(t|m?j)s$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
    ],
  },
  // `import('./x.js')` in the sources means x.ts.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transformIgnorePatterns: ['/node_modules/(?!(cookie)/)'],
  testTimeout: 20000,
  reporters: ['default', '<rootDir>/scripts/closing-line-reporter.cjs'],
};
