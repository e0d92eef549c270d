import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { setImmediate as immediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Tunnel } from "../../packages/server/src/core/tunnel.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const limits = { memoryBytes: 256 * 1024 ** 2, storageBytes: 16 * 1024 ** 2, processes: 64 };

/** Connects, does what is said with `s`, and prints it. */
function client(address: string, port: number, body: string): string {
  return `import socket\ns = socket.create_connection((${JSON.stringify(address)}, ${port}), 20)\n${body}`;
}

describe.each(engines)("connections of a sandbox (%s)", (engine) => {
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

  function python(code: string) {
    return sandbox.executeCode({ language: "python", code });
  }

  it("[NET-03] reach the owner at a listener of the guest's, with all of their bytes, and its answer comes back", async () => {
    let asked = "";
    const seen: Tunnel["local"][] = [];
    using listener = closing(
      await sandbox.wire.tunnels.listen("127.77.0.1", 3128, (tunnel) => {
        seen.push(tunnel.local);
        tunnel.on("data", (chunk: Buffer) => {
          asked += chunk.toString();
        });
        tunnel.on("end", () => tunnel.end("and so on"));
      }),
    );
    expect(listener).toMatchObject({ address: "127.77.0.1", port: 3128 });
    const body = "s.sendall(b'x' * 300000); s.shutdown(socket.SHUT_WR); print(s.makefile().read())";
    const { stdout, stderr } = await python(client("127.77.0.1", 3128, body));
    expect({ stdout, stderr }).toEqual({ stdout: "and so on\n", stderr: "" });
    expect(asked).toBe("x".repeat(300_000));
    expect(seen).toEqual([{ address: "127.77.0.1", port: 3128 }]);
  });

  it("[NET-03] carry much at once to an owner who takes it slowly, each byte in its place", async () => {
    const connections = 4; // more than get a large ring
    const bytes = 3 * wireLimits.tunnelWindowBytes + 12_345;
    const taken: string[] = [];
    using _listener = closing(
      await sandbox.wire.tunnels.listen("127.77.0.1", 4000, async (tunnel) => {
        const hash = createHash("sha256");
        for await (const chunk of tunnel) {
          hash.update(chunk as Buffer);
          await immediate();
        }
        taken.push(hash.digest("hex"));
        tunnel.end();
      }),
    );
    const { stdout, stderr } = await python(`import hashlib, random, socket, threading
def send(seed):
    data = random.Random(seed).randbytes(${bytes})
    s = socket.create_connection(("127.77.0.1", 4000), 20)
    for at in range(0, len(data), 700001): s.sendall(data[at:at + 700001])
    s.shutdown(socket.SHUT_WR); s.recv(1)
    print(hashlib.sha256(data).hexdigest())
each = [threading.Thread(target=send, args=(seed,)) for seed in range(${connections})]
for one in each: one.start()
for one in each: one.join()`);
    expect(stderr).toBe("");
    expect(taken).toHaveLength(connections);
    expect(taken.toSorted()).toEqual(stdout.trim().split("\n").toSorted());
  });

  it("[NET-03] carry much at once to programs that take it slowly, each byte in its place", async () => {
    const connections = 4;
    const bytes = 3 * wireLimits.tunnelWindowBytes + 12_345;
    const sent: string[] = [];
    using _listener = closing(
      await sandbox.wire.tunnels.listen("127.77.0.1", 4000, (tunnel) => {
        const data = randomBytes(bytes);
        sent.push(createHash("sha256").update(data).digest("hex"));
        tunnel.end(data);
      }),
    );
    const { stdout, stderr } = await python(`import hashlib, socket, threading, time
def take():
    s = socket.create_connection(("127.77.0.1", 4000), 20)
    taken = hashlib.sha256()
    for n in range(10**6):
        data = s.recv(500001)
        if not data: break
        taken.update(data)
        if n % 8 == 0: time.sleep(0.001)
    print(taken.hexdigest())
each = [threading.Thread(target=take) for _ in range(${connections})]
for one in each: one.start()
for one in each: one.join()`);
    expect(stderr).toBe("");
    expect(sent).toHaveLength(connections);
    expect(sent.toSorted()).toEqual(stdout.trim().split("\n").toSorted());
  });

  it("[NET-03] tell at which address they came, where the guest listens at all of them", async () => {
    const seen: string[] = [];
    using _listener = closing(
      await sandbox.wire.tunnels.listen("0.0.0.0", 81, (tunnel) => {
        seen.push(`${tunnel.local.address}:${tunnel.local.port}`);
        tunnel.end();
      }),
    );
    const { stdout } = await python(
      `import socket\nfor a in ["127.64.0.9", "127.99.1.2", "127.0.0.1"]:\n  print(socket.create_connection((a, 81), 20).recv(9))`,
    );
    expect(stdout).toBe("b''\nb''\nb''\n");
    expect(seen).toEqual(["127.64.0.9:81", "127.99.1.2:81", "127.0.0.1:81"]);
  });

  it("are reset where the owner says so, and not ended as if all had been said", async () => {
    using _listener = closing(await sandbox.wire.tunnels.listen("127.77.0.1", 1080, (tunnel) => tunnel.reset()));
    // It may be reset before the program has looked whether it is connected.
    const body = `try: print(socket.create_connection(("127.77.0.1", 1080), 20).recv(9))\nexcept ConnectionResetError: print("reset")`;
    expect((await python(`import socket\n${body}`)).stdout).toBe("reset\n");
  });

  it("end as reset for the owner too, where the program does that", async () => {
    const ended = Promise.withResolvers<unknown>();
    using _listener = closing(
      await sandbox.wire.tunnels.listen("127.77.0.1", 1081, (tunnel) => {
        tunnel.on("error", ended.resolve).resume();
      }),
    );
    const body =
      "import struct\ns.sendall(b'x'); s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); s.close()";
    await python(client("127.77.0.1", 1081, body));
    expect(await ended.promise).toMatchObject({ errno: "ECONNRESET" });
  });

  it("end as reset also where the owner was writing and had not read yet: what is cut off does not look whole", async () => {
    const came = Promise.withResolvers<Tunnel>();
    const ended = Promise.withResolvers<unknown>();
    // It may come and be reset in one breath.
    const meet = (tunnel: Tunnel) => {
      tunnel.on("error", ended.resolve).on("end", () => ended.resolve("as if whole"));
      came.resolve(tunnel);
    };
    using _listener = closing(await sandbox.wire.tunnels.listen("127.77.0.1", 1084, meet));
    const run = python(
      client(
        "127.77.0.1",
        1084,
        `import struct
s.setblocking(False)
try:
  while s.send(b"x" * 65536): pass
except BlockingIOError: pass
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.close()`,
      ),
    );
    const tunnel = await came.promise;
    tunnel.write(Buffer.alloc(1024 ** 2));
    expect((await run).exit_code).toBe(0);
    tunnel.resume();
    expect(await ended.promise).toMatchObject({ errno: expect.stringMatching(/^(ECONNRESET|EPIPE)$/) });
  });

  it("[NET-03] bring a program all of a long answer in order, however slowly it reads", async () => {
    const numbers = Buffer.from(Uint32Array.from({ length: 1_000_000 }, (_, i) => i).buffer);
    using _listener = closing(await sandbox.wire.tunnels.listen("127.77.0.1", 1083, (tunnel) => tunnel.end(numbers)));
    const body = `import array, time
got = b""
while True:
  piece = s.recv(1 + len(got) % 70001)
  if not piece: break
  got += piece
  if len(got) < 100000: time.sleep(0.002)
print(array.array("I", got) == array.array("I", range(1000000)))`;
    expect((await python(client("127.77.0.1", 1083, body))).stdout).toBe("True\n");
  });

  it("[NET-03] hold back a program whose bytes nobody reads, and cost no more than a window", async () => {
    const came = Promise.withResolvers<Tunnel>();
    using _listener = closing(await sandbox.wire.tunnels.listen("127.77.0.1", 1082, came.resolve));
    const run = python(client("127.77.0.1", 1082, "s.sendall(b'y' * 20_000_000); print('sent')"));
    const tunnel = await came.promise;
    await once(tunnel, "readable");
    expect(tunnel.readableLength).toBeLessThan(1024 ** 2);
    let total = 0;
    for await (const chunk of tunnel) total += (chunk as Buffer).length;
    expect(total).toBe(20_000_000);
    expect((await run).stdout).toBe("sent\n");
  });
});

function closing<T extends { close(): void }>(one: T): T & Disposable {
  return Object.assign(one, { [Symbol.dispose]: () => one.close() });
}
