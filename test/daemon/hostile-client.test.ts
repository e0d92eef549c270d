import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { access } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engineSocketLimits } from "../../packages/server/src/engines/limits.ts";
import { type Verb, verbs } from "../../packages/server/src/engines/verbs.ts";
import { engines, soak } from "../harness.ts";
import { openTestEngineServer, type TestEngineServer } from "./engine-server.ts";

const names = Object.keys(verbs);
const limits = { memoryBytes: 64 * 1024 ** 2, cpus: 1, cpuShares: 1024, processes: 8, storageBytes: 16 * 1024 ** 2 };
const strangeId = "a".repeat(16);
const marker = "/var/tmp/caisson-hostile-marker";

interface Reply {
  n?: number;
  ok?: unknown;
  error?: { code: string };
}

/** A daemon that says what it likes. */
class Hostile implements AsyncDisposable {
  readonly socket: Socket;
  readonly replies: Reply[] = [];
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #n = 0;

  constructor(path: string) {
    this.socket = connect(path);
    this.socket.on("error", () => undefined);
    createInterface({ input: this.socket }).on("line", (line) => {
      const reply = JSON.parse(line) as Reply;
      this.replies.push(reply);
      this.#waiting.get(reply.n ?? 0)?.(reply);
    });
  }

  ask(verb: string, args: unknown): Promise<Reply> {
    const n = ++this.#n;
    const reply = new Promise<Reply>((resolve) => this.#waiting.set(n, resolve));
    this.socket.write(`${JSON.stringify({ n, verb, args })}\n`);
    return reply;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.socket.closed) return;
    this.socket.destroy();
    await once(this.socket, "close");
  }
}

/** Everything but what the verb takes. */
const garbage: unknown[] = [
  null,
  [],
  "text",
  42,
  {},
  { engine: "docker", id: strangeId },
  { engine: "container", id: "../../../etc" },
  { engine: "container", id: `${strangeId}/../x` },
  { engine: "container", id: ["a"] },
  { engine: "container", id: strangeId, extra: 1 },
  { engine: "container", id: strangeId, options: { limits: { memoryBytes: -1 } } },
  { engine: "container", spec: { limits: { ...limits, memoryBytes: 1e18 } } },
  { engine: "container", spec: { limits: { ...limits, processes: 1.5 } } },
  { engine: "container", spec: { limits, inputFolder: "/etc" } },
  { engine: "container", spec: { limits, folder: "/etc" } },
  { engine: "container", spec: { limits, folder: "../etc" } },
  { engine: "container", spec: { limits, folder: "unnamed" } },
  { engine: "container", spec: { limits, outputFolder: "/etc" } },
  { engine: "container", spec: { limits, outputFolder: "unnamed" } },
  { engine: "container", spec: { limits, root: "/etc" } },
  { engine: "container", spec: { limits, root: "../../../etc" } },
  { engine: "container", spec: { limits, root: strangeId } },
  { engine: "container", spec: { limits, base: "/var/lib" } },
  { engine: "container", spec: { limits, base: strangeId } },
  { engine: "container", spec: { limits, base: [strangeId] } },
  { engine: "container", layer: "../../sandboxes" },
  { engine: "container", layer: "/etc" },
  { engine: "container", layer: strangeId },
  { engine: "container", layer: strangeId, force: true },
  { engine: "container", id: strangeId, options: { keep: true } },
  { engine: "container", id: strangeId, options: { keep: true, copy: "/etc/shadow" } },
  { engine: "container", id: strangeId, options: { keep: false, image: "/dev/sda" } },
  { engine: "container", id: strangeId, folder: "/etc" },
  { engine: "container", id: strangeId, folder: "unnamed" },
  { engine: "container", id: strangeId, path: "/etc" },
  { engine: "container", spec: { limits, guestPath: `touch ${marker}` } },
  { engine: "container", spec: { limits: { ...limits, cpus: "1; touch x" } } },
  { watch: -1 },
  { watch: 2 ** 60 },
  { choice: "/bin/sh" },
  JSON.parse('{"__proto__": {"engine": "container"}, "constructor": {"id": 1}}'),
];
const takesNothing = ["kept", "searchPath", "probe", "checkHost"];

describe("a hostile daemon", () => {
  let test: TestEngineServer;
  beforeAll(async () => {
    test = await openTestEngineServer();
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });

  it.each(names)("[SBX-19] gets nothing but refusals for %s with what it does not take", async (verb) => {
    await using hostile = new Hostile(test.socketPath);
    const wrong = garbage.filter((args) => !(takesNothing.includes(verb) && JSON.stringify(args) === "{}"));
    const replies = await Promise.all(wrong.map((args) => hostile.ask(verb, args)));
    const refused = replies.map((reply) => reply.error?.code);
    expect([...new Set(refused)].filter((code) => code !== "invalid" && code !== "not_found")).toEqual([]);
    await expect(access(marker)).rejects.toThrow();
  });

  it("[SBX-19] cannot call what is no verb, were it a property of an object", async () => {
    await using hostile = new Hostile(test.socketPath);
    for (const verb of ["constructor", "toString", "hasOwnProperty", "exec", "mount", "spawn"])
      expect((await hostile.ask(verb, {})).error?.code).toBe("unsupported");
  });

  it("[SBX-19] cannot act on a sandbox that the engine did not give it", async () => {
    await using hostile = new Hostile(test.socketPath);
    const verbsOfSandboxes = names.filter((verb) => {
      try {
        verbs[verb as Verb].check({ engine: "container", id: strangeId }, "args");
        return true;
      } catch {
        return false;
      }
    });
    expect(verbsOfSandboxes).toContain("changedFiles");
    for (const verb of verbsOfSandboxes) {
      const { ok, error } = await hostile.ask(verb, { engine: "container", id: strangeId });
      // Ending what is not there is done already.
      if (verb === "destroy") expect(ok).toBeNull();
      else expect([verb, error?.code]).toEqual([verb, "not_found"]);
    }
  });

  it.each([
    ["what is no JSON", "{nothing\n"],
    ["a message without a number", '{"verb":"kept","args":{}}\n'],
    ["a number below one", '{"n":0,"verb":"kept","args":{}}\n'],
    ["a verb that is a path", '{"n":1,"verb":"../kept","args":{}}\n'],
    ["a field too many", '{"n":1,"verb":"kept","args":{},"more":1}\n'],
    ["a line without end", "x".repeat(engineSocketLimits.requestBytes + 1)],
    ["bytes", randomBytes(4096).toString("latin1")],
    ["deep JSON", `${"[".repeat(60_000)}\n`],
  ])("[SBX-19] is cut off after %s, and the next one is served", async (_what, text) => {
    const hostile = new Hostile(test.socketPath);
    const closed = once(hostile.socket, "close");
    hostile.socket.write(text, "latin1");
    if (!text.includes("\n")) hostile.socket.write("\n");
    await closed;
    await using client = await test.connect();
    expect(await client.kept()).toEqual([]);
  });

  it("[SBX-19] that leaves in the middle of a message leaves nothing behind", async () => {
    const hostile = new Hostile(test.socketPath);
    await once(hostile.socket, "connect");
    hostile.socket.end('{"n":1,"verb":"create","args":{"engine":"contai');
    await once(hostile.socket, "close");
    await using client = await test.connect();
    expect(await client.kept()).toEqual([]);
  });

  it("[SBX-19] is not read on while it does not read its answers, and costs bounded memory", async () => {
    const count = soak ? 1_000_000 : 100_000;
    await using hostile = new Hostile(test.socketPath);
    await once(hostile.socket, "data");
    hostile.socket.pause();
    let sent = 0;
    const send = () => {
      if (sent === count) return;
      const lines = Array.from({ length: 100 }, () => `{"n":${++sent},"verb":"watchClose","args":{"watch":1}}\n`);
      hostile.socket.write(lines.join(""), send);
    };
    send();
    // Both ends live in this process: a thousand turns in which nothing moves are a standstill.
    for (let still = 0, seen = 0; still < 1_000; still++) {
      if (sent !== seen) still = 0;
      seen = sent;
      await setImmediate();
    }
    expect(sent).toBeLessThan(count);
    hostile.socket.resume();
    while (hostile.replies.length <= count) await once(hostile.socket, "data");
    expect(hostile.replies.slice(1).filter(({ ok }) => ok !== null)).toEqual([]);
  });

  it("[SBX-19] cannot answer what it was not asked", async () => {
    await using hostile = new Hostile(test.socketPath);
    hostile.socket.write('{"answer":1}\n{"answer":99}\n');
    expect((await hostile.ask("kept", {})).ok).toEqual([]);
  });

  it.each(engines)("[SBX-19] that asks for many sandboxes at once and leaves, leaves none (%s)", async (engine) => {
    {
      await using hostile = new Hostile(test.socketPath);
      const first = hostile.ask("create", { engine, spec: { limits } });
      for (let i = 0; i < 4; i++) void hostile.ask("create", { engine, spec: { limits } });
      expect((await first).error).toBeUndefined();
    }
    await using client = await test.connect();
    expect(await client.kept()).toEqual([]);
  });
});
