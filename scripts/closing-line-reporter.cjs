// Prints why tests were skipped, then the closing line; for scripts/test.mjs, which adds up two runs, it writes
// the counts to the file DSBC_TEST_SUMMARY names instead.
const { writeFileSync } = require('node:fs');

class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    const skipped = new Map();
    for (const suite of results.testResults) {
      for (const test of suite.testResults) {
        if (test.status !== 'pending') continue;
        const reason = /\[skipped, because ([^\]]*)\]/.exec(test.fullName)?.[1] ?? 'no reason given';
        skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
      }
    }
    for (const [reason, count] of skipped) console.log(`skipped ${count}, because ${reason}`);
    const counts = {
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests,
    };
    const file = process.env.DSBC_TEST_SUMMARY;
    if (file !== undefined) writeFileSync(file, JSON.stringify(counts));
    else console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }
}
module.exports = ClosingLineReporter;
