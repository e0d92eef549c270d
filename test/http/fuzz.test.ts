import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seed, soak } from "../harness.ts";
import type { Api } from "./api.ts";
import { type MadeRequest, madeRequests } from "./made-requests.ts";
import { RawClient, type RawResponse } from "./raw.ts";
import { openTestServer, type TestServer } from "./server.ts";

const count = soak ? 10_000 : 300;
const root = "/api/v1/sandboxes";
/** What a 503 may say here: what was asked for is not there, and the server is well. */
const byDesign = [
  /^port \d+ of the sandbox: ECONNREFUSED$/,
  /^the sandbox is lost: destroyed$/, // by an earlier request, whose answer nobody waited for
];

const detailOf = ({ bytes }: RawResponse): string => JSON.parse(bytes.toString()).detail;

describe("requests made up from the OpenAPI document", () => {
  let server: TestServer;
  let admin: Api;
  beforeAll(async () => {
    server = await openTestServer("container");
    admin = await server.as("admin");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** A sandbox with a file, a process and a context, whatever requests have done to others. */
  async function newStage(): Promise<Record<string, string>> {
    for (const { id } of (await admin.get(`${root}?limit=1000`)).json) await admin.delete(`${root}/${id}`);
    const id = await admin.create();
    await admin.put(`${root}/${id}/files/a.txt`, "some text\n");
    const process = await admin.post(`${root}/${id}/processes`, { command: "cat", stdin: true });
    const context = await admin.post(`${root}/${id}/contexts`, { language: "python" });
    const snapshot = await admin.post(`${root}/${id}/snapshots`, {});
    expect([process.status, context.status, snapshot.status]).toEqual([201, 201, 201]);
    return { id, process: process.json.id, context: context.json.id, snapshot_id: snapshot.json.id, port: "8000" };
  }

  function check({ method, template: path }: MadeRequest, { status, headers, bytes }: RawResponse): void {
    if (status >= 500 && status !== 503) throw new Error(`failed with ${status}: ${bytes}`);
    const contentType = headers["content-type"] ?? null;
    const isJson = /^application\/(problem\+)?json/.test(contentType ?? "") && bytes.length > 0;
    const responseBody = isJson ? JSON.parse(bytes.toString()) : undefined;
    server.judge.checkAnswer({ method, path, url: new URL(server.base), status, contentType, responseBody });
    if (headers["x-request-id"] === undefined) throw new Error("there is no request id");
  }

  it(
    `[API-01] find no failure and nothing undocumented, and leave it working (${count}, seed ${seed})`,
    async () => {
      using client = new RawClient(server.base);
      const statuses = new Set<number>();
      const unavailable: string[] = [];
      const failures: string[] = [];
      let stage: Record<string, string> = {};
      for (const [at, made] of fc.sample(madeRequests(server.judge.document), { numRuns: count, seed }).entries()) {
        if (at % 50 === 0) stage = await newStage();
        const path = made.path.replace(/\{(\w+)\}/g, (_, name: string) => stage[name] ?? "nope");
        const sent = { ...made, path, headers: { ...admin.headers, ...made.headers } };
        try {
          const answer = await client.send(sent);
          if (answer !== undefined) statuses.add(answer.status);
          if (answer?.status === 503 && made.method !== "HEAD") unavailable.push(detailOf(answer));
          if (answer !== undefined && !answer.left) check(sent, answer);
        } catch (error) {
          failures.push(
            `${at}: ${JSON.stringify({ ...made, path, body: made.body?.toString() }).slice(0, 2_000)}: ${error}`,
          );
        }
      }
      expect(failures.join("\n\n")).toBe("");
      console.log(`${unavailable.length} of ${count} answers were 503`);
      expect(unavailable.filter((detail) => !byDesign.some((known) => known.test(detail)))).toEqual([]);
      expect(server.errors).toEqual([]);
      expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 204, 400, 404]));
      expect((await admin.get("/readyz")).status).toBe(200);
    },
    soak ? 3_600_000 : 180_000,
  );
});
