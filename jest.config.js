/** Tests run compiled, from dist/test. `npm test` leaves out the long scenarios of test/stories: `npm run test:stories`. */
export default {
  rootDir: 'dist/test',
  testMatch: ['<rootDir>/**/*.test.js'],
  testEnvironment: 'node',
  runtime: '<rootDir>/../../test/setup/jest-runtime.cjs',
  testSequencer: '<rootDir>/../../test/setup/jest-sequencer.cjs',
  transform: {},
  maxWorkers: 2,
  workerIdleMemoryLimit: '1536MB',
  testTimeout: 60_000,
  globalSetup: '<rootDir>/setup/global-setup.js',
  globalTeardown: '<rootDir>/setup/global-teardown.js',
}
