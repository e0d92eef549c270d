// Runs the test files that failed once more, alone, and says which tests failed only beside others: a loaded machine
// makes some of them late. The boundary's own tests are never given a second try. Prints what it did and rewrites the
// report; ends with 0 when nothing failed twice.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";

const path = ".build/test-report.json";
const mostFiles = 6;
const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const report = read(path);
const failedFiles = report.testResults.filter((file) => file.status === "failed");
const names = failedFiles.map((file) => relative(".", file.name));
const boundary = names.filter((name) => name.startsWith("test/security/"));
if (names.length === 0 || names.length > mostFiles || boundary.length > 0) process.exit(1);

console.log(`\nonce more: ${names.join(" ")}`);
const again = ".build/test-report-again.json";
spawnSync("vitest", ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${again}`, ...names], {
  stdio: "inherit",
});
const second = read(again);
for (const file of failedFiles) {
  // Two projects may run one file: it is better only where both are.
  const both = second.testResults.filter((other) => other.name === file.name);
  const better = both.find((other) => other.status === "failed") ?? both[0];
  if (better === undefined) continue;
  for (const test of file.assertionResults)
    if (test.status === "failed") console.log(`failed at first: ${relative(".", file.name)}: ${test.fullName}`);
  report.testResults[report.testResults.indexOf(file)] = better;
}
const count = (status) =>
  report.testResults.reduce(
    (sum, file) => sum + file.assertionResults.filter((test) => test.status === status).length,
    0,
  );
report.numPassedTests = count("passed");
report.numFailedTests = count("failed");
writeFileSync(path, JSON.stringify(report));
process.exit(report.testResults.every((file) => file.status === "passed") ? 0 : 1);
