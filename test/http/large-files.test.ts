import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { engines, soak } from "../harness.ts";
import { openTestServer } from "./server.ts";

const MiB = 1024 ** 2;
const sizeBytes = (soak ? 1024 : 48) * MiB;

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** What this process really holds: objects and buffers that somebody can still reach. */
function held(): number {
  collect();
  collect(); // waits until the buffers that the first one found are given back
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe.each(engines)("large files over REST (%s)", (engine) => {
  it("[FIL-01] go up and come back whole while the server's memory stays as it is", async () => {
    await using server = await openTestServer(engine);
    const api = await server.as("agent");
    const id = await api.create({ storage_mb: (sizeBytes / MiB) * 1.5 });
    const url = `${server.base}/api/v1/sandboxes/${id}/files/large`;
    const before = held();
    let most = 0;
    const stop = new AbortController();
    const looking = (async () => {
      while (!stop.signal.aborted) {
        const beganMs = performance.now();
        most = Math.max(most, held() - before);
        await setTimeout(50 + 10 * (performance.now() - beganMs), undefined, { signal: stop.signal }).catch(
          () => undefined,
        );
      }
    })();
    const client = [
      join(import.meta.dirname, "large-client.mjs"),
      url,
      api.headers["x-api-key"] ?? "",
      String(sizeBytes),
    ];
    const { stdout } = await promisify(execFile)(process.execPath, client);
    stop.abort();
    await looking;
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({ put: 204, get: 200, received: told.sent });
    expect(most).toBeLessThan(32 * MiB);
    const [row] = await server.store.audit.search({ type: "file.written", limit: 1 });
    expect(row?.detail).toMatchObject({ size_bytes: sizeBytes, sha256: told.sent });
  }, 1_800_000);
});
