import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

describe.each(engines)("whoever may only read (%s)", (engine) => {
  let server: TestServer;
  let agent: Api;
  let viewer: Api;
  let at: string;
  beforeAll(async () => {
    server = await openTestServer(engine);
    [agent, viewer] = [await server.as("agent"), await server.as("viewer")];
    at = `/api/v1/sandboxes/${await agent.create()}`;
    await agent.put(`${at}/files/note`, "text");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const reads = ["files/note", "files", "stat?path=note", "archive", "search?text=text", "artifacts", "processes"];

  it("reads files of a sandbox that runs", async () => {
    expect((await viewer.get(`${at}/files/note`)).bytes.toString()).toBe("text");
    expect((await viewer.get(`${at}/files`)).json).toMatchObject([{ name: "note" }, { name: "output" }]);
  });

  it("[FIL-02] reads no secret, and nothing of a process", async () => {
    await agent.post(`${at}/exec`, { command: "ln -sfn /run/secrets secrets; ln -sfn /proc/self/environ environ" });
    const paths = [
      "/run/secrets",
      "/run/secrets/key",
      "/proc/1/environ",
      "/proc/self/environ",
      "secrets/key",
      "environ",
    ];
    for (const path of paths) {
      const answers = [
        await viewer.get(`${at}/files/${encodeURIComponent(path)}`),
        await viewer.get(`${at}/files?path=${path}`),
        await viewer.get(`${at}/archive?path=${path}`),
        await viewer.get(`${at}/search?path=${path}&text=a`),
      ];
      for (const { status } of answers) expect([400, 403], path).toContain(status);
    }
    await agent.post(`${at}/exec`, { command: "rm secrets environ" });
  });

  it.each([
    ["stop", "stopped"],
    ["pause", "paused"],
  ])("starts none after a %s by reading its files, and hears who can", async (verb, status) => {
    expect((await agent.post(`${at}/start`)).json.status).toBe("running");
    expect((await agent.post(`${at}/${verb}`)).json.status).toBe(status);
    for (const read of reads) {
      const answer = await viewer.get(`${at}/${read}`);
      expect([answer.status, answer.json?.code], read).toEqual([409, "conflict"]);
      expect(answer.json.hint, read).toContain("agent");
    }
    expect((await viewer.get(at)).json.status).toBe(status);
    expect((await agent.get(`${at}/files/note`)).bytes.toString()).toBe("text");
    expect((await viewer.get(at)).json.status).toBe("running");
  });
});
