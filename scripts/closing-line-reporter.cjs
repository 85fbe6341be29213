// Prints why tests were skipped, then the closing line: N passed, N failed, N skipped.
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
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    console.log(`${results.numPassedTests} passed, ${failed} failed, ${results.numPendingTests} skipped`);
  }
}
module.exports = ClosingLineReporter;
