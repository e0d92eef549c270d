import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { openTestCaisson, type TestCaisson } from "../harness.ts";

/** The rows of docs/fork.md. */
describe("[LIF-08] a copy with memory", () => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(() => test[Symbol.asyncDispose]());

  const make = () => test.caisson.createSandbox({ engine: "gvisor", limits: { storageBytes: 32 * 1024 ** 2 } });
  const forked = async (original: Sandbox, count = 1) => {
    const copies = await test.caisson.forkSandbox(original, { count });
    return [original, ...copies];
  };
  const evaluate = async (sandbox: Sandbox, context: string, code: string) => {
    const { results, error } = await sandbox.contexts.get(context).run(code);
    expect(error).toBeUndefined();
    return results[0]?.json;
  };
  const end = async (all: readonly Sandbox[]) => {
    for (const one of all) await one.destroy();
  };

  it("goes on with background processes, each with a log of its own from the same byte on", async () => {
    const original = await make();
    const command = "echo first; while read line; do echo got $line; done";
    const { id } = await original.processes.start({ command, stdin: true });
    for await (const { data } of original.processes.get(id).output()) if (data.includes("first")) break;
    const all = await forked(original, 2);
    for (const [index, one] of all.entries()) {
      const process = one.processes.get(id);
      await process.write(`${index}\n`);
      await process.closeInput();
      expect(await process.wait()).toMatchObject({ exit_code: 0 });
      expect((await process.read()).data.toString()).toBe(`first\ngot ${index}\n`);
    }
    await end(all);
  });

  it("ends runs that nobody in the copy waits for, and the original's answer their caller", async () => {
    const original = await make();
    const under = original.exec({ command: "touch begun; while ! test -e end; do sleep 0.05; done; echo done" });
    while (!(await original.files.list(".")).some(({ name }) => name === "begun"));
    const all = await forked(original);
    await original.files.write("end", Buffer.from(""));
    expect(await under).toMatchObject({ exit_code: 0, stdout: "done\n" });
    const [, copy] = all as [Sandbox, Sandbox];
    expect((await copy.exec({ command: "cat /proc/[0-9]*/cmdline | tr '\\0' ' '" })).stdout).not.toContain(
      "test -e end",
    );
    await end(all);
  });

  it("is one of as many as were asked for, and is refused past what may be made, in all and at a time", async () => {
    const original = await make();
    const copies = await test.caisson.forkSandbox(original, { count: 3, atOnce: 1 });
    expect(new Set(copies.map(({ id }) => id)).size).toBe(3);
    for (const one of copies) expect((await one.exec({ command: "uname -n" })).stdout).toBe(`${one.id.slice(0, 12)}\n`);
    for (const wrong of [{ atOnce: 0 }, { atOnce: 17 }, { count: 17 }])
      await expect(test.caisson.forkSandbox(original, wrong)).rejects.toMatchObject({ code: "invalid" });
    await end([original, ...copies]);
  });

  it("is refused while a context runs code, which goes on", async () => {
    const original = await make();
    const context = await original.contexts.create({ language: "python" });
    const code = "import os, time\nopen('begun', 'w')\nwhile not os.path.exists('end'): time.sleep(0.05)\n'done'";
    const under = context.run(code);
    while (!(await original.files.list(".")).some(({ name }) => name === "begun"));
    await expect(test.caisson.forkSandbox(original)).rejects.toMatchObject({ code: "conflict" });
    await original.files.write("end", Buffer.from(""));
    expect((await under).results[0]?.json).toBe("done");
    await end([original]);
  });

  it("has files of its own, open ones at the same offset, with their owners and modes", async () => {
    const original = await make();
    const { id } = await original.contexts.create({ language: "python" });
    await evaluate(original, id, "f = open('log', 'w+'); f.write('abc'); f.flush(); import os; os.chmod('log', 0o600)");
    const all = await forked(original, 2);
    for (const [index, one] of all.entries()) await evaluate(one, id, `f.write('${index}'); f.flush()`);
    for (const [index, one] of all.entries()) {
      const { stdout } = await one.exec({ command: "stat -c '%u %a' log; cat log; pwd; touch new && echo made" });
      expect(stdout).toBe(`1000 600\nabc${index}/workspace\nmade\n`);
    }
    await end(all);
  });

  it("keeps loopback connections, each within its copy", async () => {
    const original = await make();
    const { id } = await original.contexts.create({ language: "python" });
    const connect = [
      "import socket",
      "server = socket.create_server(('127.0.0.1', 8000))",
      "near = socket.create_connection(('127.0.0.1', 8000))",
      "far, _ = server.accept()",
    ].join("\n");
    await evaluate(original, id, connect);
    const all = await forked(original);
    for (const [index, one] of all.entries())
      expect(await evaluate(one, id, `near.sendall(b'${index}'); far.recv(10).decode()`)).toBe(`${index}`);
    await end(all);
  });

  it("lets clocks go on: the wall clock is right, the monotonic one never goes back, and sleeps end", async () => {
    const original = await make();
    const { id } = await original.contexts.create({ language: "python" });
    const before = (await evaluate(original, id, "import time; time.monotonic()")) as number;
    const sleeper = await original.processes.start({ command: "sleep 0.5; echo woke" });
    const all = await forked(original);
    for (const one of all) {
      const startMs = Date.now();
      const [monotonic, wall] = (await evaluate(one, id, "[time.monotonic(), time.time()]")) as [number, number];
      expect(monotonic).toBeGreaterThan(before);
      expect(wall * 1000).toBeGreaterThan(startMs - 1000);
      expect(wall * 1000).toBeLessThan(Date.now() + 1000);
      expect(await one.processes.get(sleeper.id).wait()).toMatchObject({ exit_code: 0 });
    }
    await end(all);
  });

  it("draws different numbers, from the kernel and in contexts", async () => {
    const original = await make();
    const python = await original.contexts.create({ language: "python" });
    const node = await original.contexts.create({ language: "node" });
    await evaluate(original, python.id, "import random, os; random.seed(7)");
    await evaluate(original, node.id, "Math.random()");
    const all = await forked(original, 2);
    for (const [context, code] of [
      [python.id, "random.random()"],
      [python.id, "os.urandom(16).hex()"],
      [node.id, "Math.random()"],
    ] as const) {
      const drawn = await Promise.all(all.map((one) => evaluate(one, context, code)));
      expect(new Set(drawn).size).toBe(all.length);
    }
    await end(all);
  });

  it("tells its generation and its id, and the original's changes too", async () => {
    const original = await make();
    const read = async (one: Sandbox) => (await one.exec({ command: "cat /run/caisson/generation" })).stdout;
    const all = await forked(original, 2);
    const words = await Promise.all(all.map(read));
    expect(words.map((line) => line.trim().split(" ")[1])).toEqual(all.map(({ id }) => id));
    expect(new Set(words).size).toBe(all.length);
    const again = await forked(original);
    expect(await read(original)).not.toBe(words[0]);
    await end([...all, ...again.slice(1)]);
  });
});
