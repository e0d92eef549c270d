import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

describe.each(engines)("what the audit log holds (%s)", (engine) => {
  let server: TestServer;
  let agent: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    agent = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[AUD-03] is what was done, and by whom: no command, code, input, output, content of a file, variable or token", async () => {
    const id = await agent.create({ env: { PASSWORD: "marked-variable" } });
    const at = `/api/v1/sandboxes/${id}`;
    const given = { env: { MORE: "marked-env" }, stdin: "marked-stdin" };
    const run = await agent.post(`${at}/exec`, { command: "echo marked-$((6*7)); cat; env", ...given });
    expect(run.json.stdout).toContain("marked-42");
    expect(run.json.stdout).toContain("marked-variable");
    await agent.post(`${at}/execute_code`, {
      language: "python",
      code: "print('marked-code'); raise Exception('marked-error')",
    });
    await agent.put(`${at}/files/note.txt`, "marked-content");
    const { url } = (await agent.post(`${at}/signed-urls`, { method: "GET", path: "note.txt" })).json;
    expect((await server.anonymous.get(url)).bytes.toString()).toBe("marked-content");
    const { json: process } = await agent.post(`${at}/processes`, { command: "cat # marked-process" });
    await agent.post(`${at}/processes/${process.id}/stdin`, { data: "marked-input", close: true });
    await agent.delete(at);

    const { bytes } = await (await server.as("operator")).get("/api/v1/audit/export");
    const log = bytes.toString();
    for (const type of [
      "sandbox.created",
      "execution.completed",
      "file.written",
      "signed_url.created",
      "process.started",
    ])
      expect(log).toContain(`"${type}"`);
    expect(log).toContain("note.txt");
    expect(log.match(/marked-\w+/g)).toBeNull();
    expect(log).not.toContain(url.split("/").at(-1));
    expect(log).not.toContain(agent.headers["x-api-key"]);
  });
});
