import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Tunnel } from "../../packages/server/src/core/tunnel.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { engines, openTestCaisson, soak, type TestCaisson } from "../harness.ts";

const MiB = 1024 ** 2;
const full = soak ? 1000 : 150;
/** gVisor keeps what is under way of all of them in the sandbox's own memory. */
const limits = { memoryBytes: 1024 * MiB, storageBytes: 16 * MiB, processes: 64 };

describe.each(engines)("many connections of a sandbox (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits });
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  const prelude = `
import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
def connect(count, port): return [socket.create_connection(("127.77.0.1", port), 60) for _ in range(count)]
`;

  async function guestBytes(): Promise<number> {
    const { stdout } = await sandbox.exec({ command: "grep VmRSS /proc/1/status" });
    return Number(/(\d+) kB/.exec(stdout)?.[1]) * 1024;
  }

  it("hold, a thousand at once, and each is answered", async () => {
    const tunnels: Tunnel[] = [];
    const all = Promise.withResolvers<void>();
    const listener = await sandbox.wire.tunnels.listen("127.77.0.1", 5000, (tunnel) => {
      tunnels.push(tunnel);
      if (tunnels.length === 1000) all.resolve();
    });
    const run = sandbox.executeCode({
      language: "python",
      code: `${prelude}
ones = connect(1000, 5000)
for i, s in enumerate(ones): s.sendall(b"%d" % i)
print(sum(s.recv(9) == b"%d" % i for i, s in enumerate(ones)))`,
    });
    await all.promise;
    for (const tunnel of tunnels) tunnel.on("data", (chunk: Buffer) => tunnel.write(chunk));
    expect(await run).toMatchObject({ stdout: "1000\n", stderr: "" });
    await Promise.all(tunnels.map((tunnel) => tunnel.closed || once(tunnel.end().resume(), "close")));
    listener.close();
  });

  it("cost the guest a bounded memory, where nobody takes what came on any of them", async () => {
    const before = await guestBytes();
    const tunnels: Tunnel[] = [];
    const all = Promise.withResolvers<void>();
    const listener = await sandbox.wire.tunnels.listen("127.77.0.1", 5001, (tunnel) => {
      tunnels.push(tunnel);
      if (tunnels.length === full) all.resolve();
    });
    const process = await sandbox.processes.start({
      command: `python3 -c '${prelude.replaceAll("'", '"')}
ones = connect(${full}, 5001)
for s in ones:
  s.setblocking(False)
  try:
    for _ in range(4): s.send(b"x" * 32768)
  except BlockingIOError: pass
print("full", flush=True)
input()'`,
      stdin: true,
    });
    await all.promise;
    for (const tunnel of tunnels) tunnel.write(Buffer.alloc(wireLimits.tunnelWindowBytes));
    for await (const { data } of process.output()) if (data.toString().includes("full")) break;
    await sandbox.ping(60_000);
    const { tunnelsBytes, tunnelsInputBytes, tunnelWindowBytes, smallRingBytes } = wireLimits;
    // Those that are under way, and what it keeps for the next large one.
    const shared = tunnelsBytes + tunnelsInputBytes + tunnelWindowBytes;
    expect((await guestBytes()) - before).toBeLessThan(shared + full * 2 * smallRingBytes);
    for (const tunnel of tunnels) tunnel.reset();
    await process.closeInput();
    await process.wait();
    listener.close();
  });

  it.runIf(engine === "container")("beyond their number wait until others have ended", async () => {
    const tunnels: Tunnel[] = [];
    const listener = await sandbox.wire.tunnels.listen("127.77.0.1", 5002, (tunnel) => {
      tunnels.push(tunnel.resume());
    });
    const process = await sandbox.processes.start({
      command: `python3 -c '${prelude.replaceAll("'", '"')}
ones = connect(${wireLimits.tunnels}, 5002)
last = connect(1, 5002)[0]
print("made", flush=True)
print(last.recv(9))'`,
    });
    for await (const { data } of process.output()) if (data.toString().includes("made")) break;
    while (tunnels.length < wireLimits.tunnels) await sandbox.ping(60_000);
    await sandbox.ping(60_000);
    expect(tunnels.length).toBe(wireLimits.tunnels);
    tunnels[0]?.reset();
    while (tunnels.length === wireLimits.tunnels) await sandbox.ping(60_000);
    tunnels.at(-1)?.end("at last");
    expect((await process.wait()).exit_code).toBe(0);
    expect((await process.read(0)).data.toString()).toBe("made\nb'at last'\n");
    listener.close();
  });
});
