import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { engines } from "../harness.ts";
import { openTestServer } from "./server.ts";

const [engine = "container"] = engines;

it("[LIF-03] GET /pool tells size, ready, starting, hits, misses and the age of the oldest", async () => {
  await using server = await openTestServer(engine, { poolSize: 1 });
  const operator = await server.as("operator");
  const filled = async () => {
    for (;;) {
      const [found, ...others] = (await operator.get("/api/v1/pool")).json;
      if (found?.ready === 1 && others.length === 0) return found;
      await sleep(10);
    }
  };
  const before = await filled();
  expect(before).toEqual({
    ...{ image: "host", engine, size: 1, ready: 1, starting: 0, hits: 0, misses: 0 },
    oldest_age_ms: expect.any(Number),
  });
  const later = await filled();
  expect(later.oldest_age_ms).toBeGreaterThanOrEqual(before.oldest_age_ms);
  const made = await operator.post("/api/v1/sandboxes");
  expect(made.json.origin).toBe("pool");
  const after = await filled(); // by another one
  expect(after).toMatchObject({ size: 1, ready: 1, hits: 1, misses: 0 });
  // What no pool can have is no miss of it.
  expect((await operator.post("/api/v1/sandboxes", { storage_mb: 65 })).json.origin).not.toBe("pool");
  expect(await filled()).toMatchObject({ hits: 1, misses: 0 });
});
