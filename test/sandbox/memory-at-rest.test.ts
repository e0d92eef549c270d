import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { engines, openTestCaisson } from "../harness.ts";
import { runOnHost } from "../security/host-run.ts";

/** Files of the data folder that hold these bytes, workspace images included. */
async function filesWith(home: string, text: string): Promise<string> {
  return (await runOnHost(["grep", "-rlF", "--", text, home], { timeoutMs: 50_000 })).stdout;
}

describe.each(engines)("what a program on %s has in memory (hazard 5)", (engine) => {
  it("is in no file of the host, while it runs, while it is paused, and once it is stopped", async () => {
    await using test = await openTestCaisson();
    const sandbox = await test.caisson.createSandbox({ engine, keep: true, limits: { storageBytes: 32 * 1024 ** 2 } });
    const secret = randomBytes(24).toString("hex");
    const holder = await sandbox.processes.start({
      command: "read value; echo $value >/tmp/held; echo ready; exec sleep 1000",
      stdin: true,
    });
    await holder.write(`${secret}\n`);
    for await (const { data } of holder.output()) if (data.includes("ready")) break;
    expect(await filesWith(test.home, secret)).toBe("");
    await sandbox.pause();
    expect(await filesWith(test.home, secret)).toBe("");
    await sandbox.resume();
    await sandbox.exec({ command: "cat /tmp/held >/workspace/told; sync" });
    expect(await filesWith(test.home, secret), "the search finds what is there").not.toBe("");
    await sandbox.exec({ command: "rm /workspace/told" });
    await sandbox.stop();
    await test.caisson.resetSandbox(sandbox.id);
    expect(await filesWith(test.home, secret)).toBe("");
    await test.caisson.destroySandbox(sandbox.id);
  });
});

it("is in no file of the host while copies are made of it (hazard 5)", async () => {
  await using test = await openTestCaisson();
  const sandbox = await test.caisson.createSandbox({ engine: "gvisor", limits: { storageBytes: 32 * 1024 ** 2 } });
  const secret = randomBytes(24).toString("hex");
  const context = await sandbox.contexts.create({ language: "python" });
  await context.run(`held = bytes.fromhex("${Buffer.from(secret).toString("hex")}").decode()`);
  const [copy] = await test.caisson.forkSandbox(sandbox);
  // What is compressed shows nothing to a search: the copy itself says that its memory holds it.
  expect((await copy?.contexts.get(context.id).run("held"))?.results[0]?.text).toContain(secret);
  const { stdout } = await runOnHost(["find", test.home, "-name", "*checkpoint*"], { timeoutMs: 50_000 });
  expect(stdout).toBe("");
  expect(await filesWith(test.home, secret)).toBe("");
});
