import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Tunnel } from "../../packages/server/src/core/tunnel.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const limits = { memoryBytes: 256 * 1024 ** 2, storageBytes: 16 * 1024 ** 2, processes: 64 };

describe.each(engines)("the listeners of a kept sandbox (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits, keep: true });
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[SBX-16] are the next owner's, with nobody able to take their place; connections are reset", async () => {
    const came = Promise.withResolvers<Tunnel>();
    const { id } = sandbox;
    await sandbox.wire.tunnels.listen("127.77.0.1", 3128, came.resolve);
    await sandbox.wire.tunnels.listenDatagrams("127.77.0.1", 53, (_, send) => send(Buffer.from("first")));
    const program = await sandbox.processes.start({
      command: `python3 -c '
import socket
def ask():
  d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  d.settimeout(20)
  d.sendto(b"x", ("127.77.0.1", 53))
  return d.recv(99)
print(ask(), flush=True)
s = socket.create_connection(("127.77.0.1", 3128), 60)
s.sendall(b"x" * 1000000)
try:
  s.recv(1); print("not reset")
except ConnectionResetError: print("reset", flush=True)
t = socket.socket(); t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
try: t.bind(("127.77.0.1", 3128))
except OSError as error: print(error.errno, flush=True)
s = socket.create_connection(("127.77.0.1", 3128), 60)
print(s.recv(99), ask(), flush=True)'`,
    });
    const first = await came.promise;
    const closed = new Promise((resolve) => first.on("close", resolve));
    await once(first, "readable"); // it has been spoken to, and not to its end
    await sandbox.detach();
    await closed;
    sandbox = await test.caisson.attachSandbox(id);
    await sandbox.wire.tunnels.listen("127.77.0.1", 3128, (tunnel) => tunnel.end("second"));
    await sandbox.wire.tunnels.listenDatagrams("127.77.0.1", 53, (_, send) => send(Buffer.from("second")));
    const again = sandbox.processes.get(program.id);
    await again.wait();
    expect((await again.read(0)).data.toString()).toBe("b'first'\nreset\n98\nb'second' b'second'\n");
  });
});

describe.each(engines)("a sandbox whose programs may not listen (%s)", (engine) => {
  it("[EXE-13] has the guest's listeners all the same", async () => {
    await using test = await openTestCaisson();
    await using sandbox = await test.caisson.createSandbox({ engine, limits, listeners: false });
    await sandbox.wire.tunnels.listen("127.77.0.1", 3128, (tunnel) => tunnel.end("guest"));
    const { stdout } = await sandbox.executeCode({
      language: "python",
      code: `import socket
print(socket.create_connection(("127.77.0.1", 3128), 20).recv(9))
try: socket.create_server(("127.0.0.1", 9000))
except PermissionError as error: print(error.errno)`,
    });
    expect(stdout).toBe("b'guest'\n13\n");
  });
});
