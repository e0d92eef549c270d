import { describe, expect, it } from "vitest";
import { engines, soak } from "../../harness.ts";
import { openTestServer } from "../server.ts";
import { findSchemathesis, runSchemathesis } from "./run.ts";

const [engine = "container"] = engines;
const folder = await findSchemathesis();
const why = folder === undefined ? " (left out: its registry cannot be reached)" : "";
/** Some waiting left out, until the time is over. A soak goes on to requests made at random, and to sequences of them. */
const short = ["--phases", "examples,coverage", "--exclude-path", "/api/v1/events", "--max-time", "30"];
const bounds = ["--seed", "1", ...(soak ? [] : short)];

describe("schemathesis", () => {
  it.runIf(folder)(
    `[API-01] gets nothing but answers that openapi.json declares, and none that it does not take${why}`,
    async () => {
      await using server = await openTestServer(engine);
      const { code, output } = await runSchemathesis(folder ?? "", server, bounds);
      expect(output.slice(0, 20_000)).not.toContain("= FAILURES =");
      expect(code, output.slice(-4_000)).toBe(0);
      expect(Number(/(\d+) generated/.exec(output)?.[1])).toBeGreaterThan(50);
      expect(server.errors).toEqual([]);
    },
    soak ? 3_600_000 : 180_000,
  );
});
