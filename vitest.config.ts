import { defineConfig } from "vitest/config";

const soak = process.env.CAISSON_SOAK === "1";

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 2,
    testTimeout: soak ? 3_600_000 : 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: "unit", include: ["packages/**/*.test.ts"], sequence: { groupOrder: 0 } },
      },
      {
        // Engines, cgroups and ports belong to the whole machine: one file at a time.
        extends: true,
        test: { name: "system", include: ["test/**/*.test.ts"], fileParallelism: false, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
