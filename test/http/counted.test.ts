import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Role } from "../../packages/server/src/core/scope.ts";
import { auditLimits } from "../../packages/server/src/store/limits.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const { budgetRows } = auditLimits;
const extra = 40;

describe("requests of one key that each have an entry in the audit log", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** Sends more than the budget; returns the number of rows of that type, and the bytes of all. */
  async function flood(role: Role, type: string, status: number, send: (api: Api) => Promise<{ status: number }>) {
    const api = await server.as(role);
    let left = budgetRows + extra;
    const lane = async () => {
      while (left-- > 0) expect((await send(api)).status).toBe(status);
    };
    await Promise.all(Array.from({ length: 16 }, lane));
    const bytes = server.store.audit.bytes("default");
    const first = await server.store.audit.search({ type, after: 0, limit: 1_000 });
    const rest = await server.store.audit.search({ type, after: first.at(-1)?.position ?? 0, limit: 1_000 });
    return { rows: first.length + rest.length, bytes };
  }

  it("[S107] are rows up to the budget for signed URLs with long paths, and answered as before past it", async () => {
    const at = `/api/v1/sandboxes/${await (await server.as("operator")).create()}/signed-urls`;
    const json = { method: "GET", path: "x".repeat(2_000) };
    const { rows, bytes } = await flood("agent", "signed_url.created", 201, (api) => api.send("POST", at, { json }));
    expect(rows).toBe(budgetRows);
    expect(bytes).toBeLessThan(budgetRows * 1_000);
  });

  it("[S107] are rows up to the budget for refusals, and each is refused", async () => {
    const send = (api: Api) => api.send("POST", "/api/v1/sandboxes", { json: {} });
    expect((await flood("viewer", "access.denied", 403, send)).rows).toBe(budgetRows);
  });
});
