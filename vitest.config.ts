import { defineConfig } from "vitest/config";

const soak = process.env.CAISSON_SOAK === "1";

const sandboxTests = (...names: string[]) => names.map((name) => `test/sandbox/${name}.test.ts`);
const sanitizedTests = [
  "test/guest/sanitized.test.ts",
  "test/wire/attach.test.ts",
  "test/wire/hostile-host.test.ts",
  ...sandboxTests("exec", "files", "processes", "snapshots", "tar", "terminal", "tunnels", "tunnels-inside", "warm"),
  ...(soak ? sandboxTests("contexts", "kept", "limits", "newborns", "pause", "search") : []),
];

/** They fill the machine, or judge what is left of it: one file at a time. */
const aloneTests = [
  "test/security/**/*.test.ts",
  ...sandboxTests("limits", ...(soak ? ["churn", "memory", "survival"] : [])),
];

/** Each has a daemon, a store and a data folder of its own. */
const daemonTests = ["approvals", "fleet", "http", "inspect", "mcp", "packages", "sdk", "seeds", "store", "vault"].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

/** Sandboxes wait more than they work: one file more at a time than there are processors. In a soak they fill the machine. */
const besideOthers = { maxWorkers: soak ? 2 : 3, sequence: { groupOrder: 3 } };
const oneAfterTheOther = (groupOrder: number) => ({ fileParallelism: false, sequence: { groupOrder } });

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 2,
    testTimeout: soak ? 3_600_000 : 60_000,
    hookTimeout: 60_000,
    globalSetup: "test/data-folder.ts",
    projects: [
      {
        // They leave nothing in their process: what they import is loaded once for all of them.
        extends: true,
        test: { name: "unit", include: ["packages/**/*.test.ts"], isolate: false, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: "alone", include: aloneTests, ...oneAfterTheOther(1) },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: ["test/guest/sanitized.test.ts", ...aloneTests, ...daemonTests],
          ...besideOthers,
        },
      },
      {
        extends: true,
        test: { name: "daemon", include: daemonTests, ...besideOthers },
      },
      {
        // The same claims, with a guest in which AddressSanitizer and UndefinedBehaviorSanitizer look for mistakes.
        extends: true,
        test: {
          name: "sanitized",
          include: sanitizedTests,
          env: { CAISSON_TEST_GUEST: "sanitized" },
          globalSetup: ["test/data-folder.ts", "test/guest/build-sanitized.ts"],
          ...(soak ? oneAfterTheOther(2) : besideOthers),
        },
      },
    ],
  },
});
