import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { soak } from "../harness.ts";
import { findObstacle, OrdinaryUser } from "../ordinary-user.ts";
import { runVitest, type TestRun } from "../vitest-as-user.ts";

/** In `npm test` what an ordinary user's sandboxes do otherwise than root's; all of it under CAISSON_SOAK=1. */
const sample = [
  "read the data folder by its path",
  "find a secret of the host or of a neighbour",
  "through processes",
  "enter the namespaces of other processes",
  "mount after unsharing",
  "make the read-only root writable",
  "become root",
  "hold a capability",
  "set-uid programs",
  "of a neighbour",
  "by signalling everybody",
  "signal a process of the host",
  "more processes than its limit",
  "take every",
  "fill the host's disk or",
  "write /proc/sys/kernel/core_pattern",
  "path 10,000 deep",
];

const obstacle = await findObstacle();
if (obstacle !== undefined) console.log(`not tried as an ordinary user: ${obstacle}`);

describe.skipIf(obstacle !== undefined)("the escape suite of an ordinary user", () => {
  let user: OrdinaryUser;
  let run: TestRun;

  beforeAll(
    async () => {
      user = await OrdinaryUser.make();
      const pattern = soak ? "cannot " : `cannot .*(${sample.join("|")})`;
      run = await runVitest(user, ["test/security/escapes.test.ts"], pattern, soak ? 3_000_000 : 300_000);
    },
    soak ? 3_000_000 : 300_000,
  );

  afterAll(() => user[Symbol.asyncDispose]());

  it("[SBX-15] holds in every line that applies, and gives its reason for each that does not", async () => {
    const report = await readFile(join(user.checkout, ".build/escape-report-rootless.md"), "utf8");
    const rows = report.split("\n").filter((line) => /\| (container|gvisor) \|/.test(line));
    const verdicts = rows.map((row) => row.split(" | ")[3] ?? "").filter((verdict) => verdict !== "not run");
    console.log(report.split("\n")[2]);
    expect(run.failed).toEqual([]);
    expect(verdicts.length).toBeGreaterThan(2 * sample.length);
    for (const verdict of verdicts) expect(verdict).toMatch(/^(held$|not applicable: .{20})/);
    expect(verdicts.filter((verdict) => verdict === "held").length).toBeGreaterThan(verdicts.length * 0.7);
  });
});
