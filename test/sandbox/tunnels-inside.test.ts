import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const limits = { memoryBytes: 256 * 1024 ** 2, storageBytes: 16 * 1024 ** 2, processes: 64 };

describe.each(engines)("the network inside a sandbox (%s)", (engine) => {
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

  /** What code prints, with `import socket` before it. */
  async function python(code: string): Promise<string> {
    const { stdout, stderr } = await sandbox.executeCode({ language: "python", code: `import socket\n${code}` });
    return stdout + stderr;
  }

  const attempts = `
def attempt(what):
  try:
    return what() and "done"
  except OSError as error:
    return type(error).__name__ + " " + str(error.errno)
`;

  it("[NET-03] answers datagrams where the guest listens, each to its sender, and loses what is too large", async () => {
    const seen: string[] = [];
    using _listener = closing(
      await sandbox.wire.tunnels.listenDatagrams("127.77.0.1", 53, ({ bytes }, send) => {
        seen.push(bytes.toString());
        send(Buffer.alloc(5000));
        send(Buffer.from(`to ${bytes.toString()}`));
      }),
    );
    const printed = await python(`
ones = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
for i, s in enumerate(ones):
  s.settimeout(20)
  s.sendto(b'x' * 4500, ("127.77.0.1", 53))
  s.sendto(b'%d' % i, ("127.77.0.1", 53))
for s in ones: print(s.recvfrom(9000))`);
    expect(printed).toBe([0, 1, 2].map((i) => `(b'to ${i}', ('127.77.0.1', 53))\n`).join(""));
    expect(seen.sort()).toEqual(["0", "1", "2"]);
  });

  it("[NET-01] has no other way for datagrams: nobody is there to take them", async () => {
    const printed = await python(`${attempts}
def ask(address, port):
  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  s.settimeout(20)
  s.connect((address, port))
  s.send(b'x')
  return s.recv(9)
for to in [("127.64.0.1", 443), ("127.64.0.7", 53), ("127.0.0.1", 53), ("8.8.8.8", 53), ("169.254.169.254", 80)]:
  print(attempt(lambda: ask(*to)))`);
    const refused = "ConnectionRefusedError 111";
    const unreachable = expect.stringMatching(/^OSError (101|113)$/);
    expect(printed.trim().split("\n")).toEqual([refused, refused, refused, unreachable, unreachable]);
  });

  it("[NET-03] lets the C library look up IPv4 addresses where it asks what the machine has (hazard 21)", async () => {
    const flags = "socket.AF_INET, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG";
    expect(await python(`print(socket.getaddrinfo("localhost", 80, ${flags})[0][4])`)).toBe("('127.0.0.1', 80)\n");
    expect((await sandbox.exec({ command: "cat /etc/resolv.conf" })).stdout).toBe("nameserver 127.64.0.1\n");
  });

  it("[SBX-03] cannot be listened to on top of the guest, nor sniffed (hazard 16)", async () => {
    using _tcp = closing(await sandbox.wire.tunnels.listen("127.77.0.1", 3128, (tunnel) => tunnel.end("guest")));
    using _udp = closing(
      await sandbox.wire.tunnels.listenDatagrams("127.77.0.1", 53, (_, send) => send(Buffer.from("guest"))),
    );
    const printed = await python(`${attempts}
def bind(kind, address, port, *options):
  s = socket.socket(socket.AF_INET, kind)
  for option in options: s.setsockopt(socket.SOL_SOCKET, option, 1)
  s.bind((address, port))
  if kind == socket.SOCK_STREAM: s.listen()
  return True
for options in [(), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)]:
  print(attempt(lambda: bind(socket.SOCK_STREAM, "127.77.0.1", 3128, *options)))
  print(attempt(lambda: bind(socket.SOCK_DGRAM, "127.77.0.1", 53, *options)))
print(attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)))
print(attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)))
print(socket.create_connection(("127.77.0.1", 3128), 20).recv(9))`);
    const lines = printed.trim().split("\n");
    // Below 1024 a container's kernel refuses the port before it looks who has it.
    for (const line of lines.slice(0, 8)) expect(line).toMatch(/^(OSError 98|PermissionError 13)$/);
    expect(lines.slice(8)).toEqual(["PermissionError 1", "PermissionError 1", "b'guest'"]);
  });

  it("[SBX-03] gives user code no capability of the guest's, which itself uses four", async () => {
    const { stdout } = await sandbox.exec({
      command: "cat /proc/self/status /proc/1/status | grep -E '^Cap(Prm|Eff|Bnd)'",
    });
    const kept = "00000000000004e0"; // KILL, SETGID, SETUID, NET_BIND_SERVICE
    // Where memory is saved it may take up one more, for the name of a copy: SYS_ADMIN, of gVisor's kernel.
    const permitted = engine === "gvisor" ? "00000000002004e0" : kept;
    const none = "0000000000000000";
    expect(
      stdout
        .replaceAll(/Cap...:\t/g, "")
        .trim()
        .split("\n"),
    ).toEqual([none, none, none, permitted, kept, none]);
  });

  it("[NET-14] lets the owner reach a program's own port, on IPv4 and IPv6, and says so where nobody listens", async () => {
    using server = await listenInside(`
s = socket.create_server(("127.0.0.1", 8000))
t = socket.create_server(("::1", 8001), family=socket.AF_INET6)
print("ready", flush=True)
for one in (s, t):
  c, _ = one.accept()
  c.sendall(b"you said " + c.makefile("rb").read()); c.close()`);
    for (const [port, address] of [
      [8000, "127.0.0.1"],
      [8001, "::1"],
    ] as const) {
      const tunnel = await sandbox.wire.tunnels.dial(port);
      expect(tunnel.local).toEqual({ address, port });
      tunnel.end("hello");
      expect(await text(tunnel)).toBe("you said hello");
    }
    await server.process.wait();
    await expect(sandbox.wire.tunnels.dial(8000)).rejects.toMatchObject({
      code: "unavailable",
      details: { errno: "ECONNREFUSED" },
    });
  });

  it("[NET-14] lets nobody from outside reach what the guest listens on (hazard 17)", async () => {
    using listener = closing(await sandbox.wire.tunnels.listen("127.77.0.1", 1080, (tunnel) => tunnel.end("guest")));
    using everywhere = closing(await sandbox.wire.tunnels.listen("0.0.0.0", 81, (tunnel) => tunnel.end("guest")));
    for (const { port } of [listener, everywhere])
      await expect(sandbox.wire.tunnels.dial(port)).rejects.toMatchObject({ code: "forbidden" });
    await expect(sandbox.wire.tunnels.dial(0)).rejects.toMatchObject({ code: "invalid" });
    await expect(sandbox.wire.tunnels.dial(65_536)).rejects.toMatchObject({ code: "invalid" });
  });

  it("[SEC-02] places files that user code can read and neither change, replace nor remove (hazard 27)", async () => {
    const { tunnels } = sandbox.wire;
    await tunnels.place("secrets", "TOKEN", Buffer.from("first"));
    await tunnels.place("secrets", "TOKEN", Buffer.alloc(200_000, "x"));
    await tunnels.place("caisson", "ca.pem", Buffer.from("second"));
    const { stdout } = await sandbox.exec({
      command: `cd /run; stat -c '%a %u:%g %s %n' secrets/* caisson/ca.pem
for what in 'echo x > secrets/TOKEN' 'chmod 600 secrets/TOKEN' 'rm -f secrets/TOKEN' 'mv secrets s' 'touch secrets/x' 'rm -rf caisson'
do sh -c "$what" 2>/dev/null; echo $?; done; ls secrets; ls caisson/ca.pem`,
    });
    expect(stdout.replaceAll(/^[12]$/gm, "no")).toBe(
      `440 0:1000 200000 secrets/TOKEN\n440 0:1000 6 caisson/ca.pem\n${"no\n".repeat(6)}TOKEN\ncaisson/ca.pem\n`,
    );
    await tunnels.place("secrets", "TOKEN", null);
    await tunnels.place("secrets", "TOKEN", null);
    expect((await sandbox.exec({ command: "ls -A /run/secrets" })).stdout).toBe("");
    for (const name of ["", ".", "..", "../x", "a/b", ".hidden", "x".repeat(300)])
      await expect(tunnels.place("secrets", name, Buffer.from("x"))).rejects.toMatchObject({ code: "invalid" });
  });

  it("trusts whom the host trusts, until its owner places another bundle", async () => {
    const read = async () => (await sandbox.exec({ command: "cat /etc/ssl/certs/ca-certificates.crt" })).stdout;
    const hosts = await readFile("/etc/ssl/certs/ca-certificates.crt", "utf8").catch(() => "");
    expect((await read()) === hosts).toBe(true);
    await sandbox.wire.tunnels.place("caisson", "ca-bundle.pem", Buffer.from("another"));
    expect(await read()).toBe("another");
  });

  it("keeps a low port for the guest when its listener is closed: connections are reset, and it listens again at once", async () => {
    const ask = () =>
      python(`${attempts}
print(attempt(lambda: socket.create_connection(("127.77.0.1", 82), 20).recv(9)))`);
    const { tunnels } = sandbox.wire;
    const listener = await tunnels.listen("127.77.0.1", 82, (tunnel) => tunnel.end("guest"));
    expect(await ask()).toBe("done\n");
    listener.close();
    expect(await ask()).toBe("ConnectionResetError 104\n");
    using _again = closing(await tunnels.listen("127.77.0.1", 82, (tunnel) => tunnel.end("guest")));
    expect(await ask()).toBe("done\n");
  });

  it("says what is wrong with a place to listen at", async () => {
    const { tunnels } = sandbox.wire;
    await expect(tunnels.listen("example.com", 80, () => undefined)).rejects.toMatchObject({ code: "invalid" });
    await expect(tunnels.listen("8.8.8.8", 80, () => undefined)).rejects.toMatchObject({
      details: { errno: "EADDRNOTAVAIL" },
    });
    using _first = closing(await tunnels.listen("127.64.0.2", 5432, (tunnel) => tunnel.end()));
    await expect(tunnels.listen("127.64.0.2", 5432, () => undefined)).rejects.toMatchObject({
      code: "conflict",
      details: { errno: "EADDRINUSE" },
    });
    await expect(tunnels.listenDatagrams("8.8.8.8", 80, () => undefined)).rejects.toMatchObject({
      details: { errno: "EADDRNOTAVAIL" },
    });
  });

  async function listenInside(code: string) {
    const process = await sandbox.processes.start({
      command: `python3 -c '${`import socket\n${code}`.replaceAll("'", '"')}'`,
    });
    for await (const { data } of process.output()) if (data.toString().includes("ready")) break;
    return { process, [Symbol.dispose]: () => void process.kill() };
  }
});

function closing<T extends { close(): void }>(one: T): T & Disposable {
  return Object.assign(one, { [Symbol.dispose]: () => one.close() });
}
