import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { HandClient } from "../../packages/server/src/host-access/hand-client.ts";
import { HandServer } from "../../packages/server/src/host-access/hand-server.ts";
import { hostLimits } from "../../packages/server/src/host-access/limits.ts";
import { Folder, handWith, newMark, running } from "./hand.ts";

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
});
afterAll(() => folder[Symbol.asyncDispose]());

/** Both ends of a socket. */
async function pair(): Promise<{ ours: Socket; theirs: Socket }> {
  const path = join(folder.path, `${Math.random()}`);
  const server = createServer().listen(path);
  await once(server, "listening");
  const theirs = once(server, "connection") as Promise<[Socket]>;
  const ours = connect(path);
  const [accepted] = await theirs;
  server.close();
  return { ours, theirs: accepted };
}

async function refusal(act: Promise<unknown>): Promise<string> {
  return act.then(
    () => "",
    (error: unknown) => (error instanceof AppError ? `${error.code}: ${error.message}` : String(error)),
  );
}

const hand = () => handWith({ allow: ["echo *", "sleep *"], folders: [{ path: folder.path, writable: true }] });

describe("the host's process", () => {
  it("[HST-02] does for a daemon what its policy allows, by its verbs", async () => {
    const { ours, theirs } = await pair();
    const server = new HandServer(theirs, hand(), () => undefined);
    const client = await HandClient.over(ours);
    expect(await client.exec(["echo", "a", "b"], { timeoutMs: 30_000 })).toMatchObject({ stdout: "a b\n" });
    const file = join(folder.path, "file");
    expect(await client.write(file, Buffer.from([0, 255]))).toEqual({ created: true });
    expect(await client.read(file, { offset: 0, length: 10 })).toMatchObject({
      bytes: Buffer.from([0, 255]),
      sizeBytes: 2,
    });
    expect((await client.list(folder.path)).entries.map(({ name }) => name)).toContain("file");
    expect(await refusal(client.exec(["id"], { timeoutMs: 30_000 }))).toContain("forbidden: ");
    expect(await refusal(client.read("/etc/hostname", { offset: 0, length: 1 }))).toContain("forbidden: ");
    client[Symbol.dispose]();
    await server.ended;
    expect(await refusal(client.list(folder.path))).toContain("unavailable: ");
  });

  it("ends a command that the daemon cancels, and all when it leaves", async () => {
    const { ours, theirs } = await pair();
    const server = new HandServer(theirs, hand(), () => undefined);
    const client = await HandClient.over(ours);
    const stop = new AbortController();
    const [one, other] = [newMark(), newMark()];
    const cancelled = client.exec(["sleep", one], { timeoutMs: 600_000, signal: stop.signal });
    const left = client.exec(["sleep", other], { timeoutMs: 600_000 });
    left.catch(() => undefined);
    await vi.waitFor(() => expect([running(one), running(other)]).toEqual([true, true]), 20_000);
    stop.abort();
    expect(await cancelled).toMatchObject({ signal: "SIGKILL" });
    client[Symbol.dispose]();
    await server.ended;
    await vi.waitFor(() => expect([running(one), running(other)]).toEqual([false, false]), 20_000);
    const late = handWith({ allow: ["sleep *"] }).exec(["sleep", one], { timeoutMs: 1_000, signal: stop.signal });
    expect(await refusal(late)).toContain("the caller left");
    expect(await refusal(left)).toContain("unavailable: ");
  });

  it.each([
    ["no JSON", "nonsense"],
    ["no message", "[]"],
    ["an unknown verb", '{"n":1,"verb":"spawn","args":{}}'],
    ["an unknown field", '{"n":1,"verb":"hello","args":{},"as":"root"}'],
    ["no number", '{"n":"1","verb":"hello","args":{}}'],
  ])("leaves when the daemon says %s", async (_what, line) => {
    const { ours, theirs } = await pair();
    const errors: unknown[] = [];
    const server = new HandServer(theirs, hand(), (error) => errors.push(error));
    ours.write(`${line}\n`);
    await server.ended;
    expect(errors).toHaveLength(1);
  });

  it.each([
    { verb: "exec", args: { argv: [], timeoutMs: 1_000 } },
    { verb: "exec", args: { argv: ["echo", "a"], timeoutMs: 1e9 } },
    { verb: "exec", args: { argv: ["echo", "a"], timeoutMs: 1_000, env: { LD_PRELOAD: "x" } } },
    { verb: "exec", args: { argv: "echo a", timeoutMs: 1_000 } },
    { verb: "read", args: { path: "/etc/hostname", offset: -1, length: 1 } },
    { verb: "read", args: { path: "/etc/hostname", offset: 0, length: hostLimits.fileBytes + 1 } },
    { verb: "write", args: { path: "/x" } },
  ])("does not take $verb with $args", async (request) => {
    const { ours, theirs } = await pair();
    const server = new HandServer(theirs, hand(), () => undefined);
    ours.write(`${JSON.stringify({ n: 1, ...request })}\n`);
    const [answer] = (await once(ours, "data")) as [Buffer];
    expect(JSON.parse(answer.toString())).toMatchObject({ n: 1, error: { code: "invalid" } });
    server.close();
  });

  it("takes a bounded number of requests at a time", async () => {
    const { ours, theirs } = await pair();
    const server = new HandServer(theirs, hand(), () => undefined);
    const answers: string[] = [];
    ours.on("data", (chunk: Buffer) => answers.push(...chunk.toString().trim().split("\n")));
    for (let n = 1; n <= hostLimits.requests + 5; n++)
      ours.write(`${JSON.stringify({ n, verb: "exec", args: { argv: ["sleep", "600"], timeoutMs: 600_000 } })}\n`);
    const refused = hostLimits.requests + 5 - hostLimits.commands;
    await vi.waitFor(() => expect(answers).toHaveLength(refused), 20_000);
    expect(answers.every((line) => JSON.parse(line).error.code === "limit_exceeded")).toBe(true);
    server.close();
    await server.ended;
  });
});

describe("a daemon", () => {
  it.each([
    ["no JSON", "nonsense"],
    ["another result", '{"n":2,"ok":{"stdout":7}}'],
    ["an unknown code", '{"n":2,"error":{"code":"root","message":""}}'],
    ["what is too long", "x".repeat(hostLimits.messageBytes + 1)],
  ])("does without the host's process when that says %s", async (_what, line) => {
    const { ours, theirs } = await pair();
    theirs.once("data", () => theirs.write('{"n":1,"ok":{"version":1}}\n'));
    theirs.on("error", () => undefined);
    const client = await HandClient.over(ours);
    const run = client.exec(["echo", "a"], { timeoutMs: 1_000 });
    theirs.write(`${line}\n`);
    expect(await refusal(run)).toContain("unavailable: the host's process");
    expect((await client.lost).code).toBe("unavailable");
    theirs.destroy();
  });
});
