import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { OrdinaryUser } from "./ordinary-user.ts";

export interface TestRun {
  passed: string[];
  failed: string[];
  skipped: string[];
}

interface Assertion {
  fullName: string;
  status: "passed" | "failed" | "skipped" | "pending";
  failureMessages: string[];
}

/** Runs tests of the user's checkout as that user; names of those that ran, with the reasons of failures. */
export async function runVitest(
  user: OrdinaryUser,
  files: readonly string[],
  pattern: string,
  timeoutMs: number,
): Promise<TestRun> {
  const report = join(user.folder, "tmp", "tests.json");
  const vitest = join(user.checkout, "node_modules/vitest/vitest.mjs");
  const options = [
    "--configLoader",
    "native",
    "--root",
    user.checkout,
    "--project=alone",
    "--project=system",
    "-t",
    pattern,
  ];
  const output = ["--reporter=json", `--outputFile=${report}`];
  const seen = await user.run(["node", vitest, "run", ...options, ...output, ...files], timeoutMs);
  const text = await readFile(report, "utf8").catch(() => undefined);
  if (text === undefined)
    throw new Error(`vitest told nothing: ${seen.stdout.slice(-2000)}${seen.stderr.slice(-2000)}`);
  const { testResults } = JSON.parse(text) as {
    testResults: { name: string; message?: string; status: string; assertionResults: Assertion[] }[];
  };
  const all = testResults.flatMap((file) => file.assertionResults);
  const broken = testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  const withStatus = (...wanted: string[]) => all.filter(({ status }) => wanted.includes(status));
  return {
    passed: withStatus("passed").map(({ fullName }) => fullName),
    skipped: withStatus("skipped", "pending").map(({ fullName }) => fullName),
    failed: [
      ...withStatus("failed").map(
        ({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join("; ").slice(0, 500)}`,
      ),
      ...broken.map(({ name, message }) => `${name}: ${message}`),
    ],
  };
}
