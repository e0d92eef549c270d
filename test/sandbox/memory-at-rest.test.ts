import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { argumentChecks } from "../../packages/server/src/engines/protocol.ts";
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

it("no verb of the engine writes a sandbox's memory to a file (hazard 5)", () => {
  // A checkpoint holds every secret its sandbox ever saw. It comes only with what LIF-10 asks for.
  expect(Object.keys(argumentChecks).filter((verb) => /checkpoint|restore|fork|dump|export/i.test(verb))).toEqual([]);
});
