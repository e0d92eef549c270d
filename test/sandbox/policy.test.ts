import { mkdtemp, rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caisson, openCaisson } from "../../packages/server/src/index.ts";
import { engines, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

/** Each way to get a listener, and what comes of it: "open", or the name of the error. */
const attempts = `
import errno, os, socket
def attempt(name, act):
    try:
        act()
        print(name, "open")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
def tcp(family, address):
    def act():
        listener = socket.socket(family)
        listener.bind(address)
        listener.listen()
        client = socket.create_connection(listener.getsockname()[:2])
        listener.accept()[0].send(b"x")
        assert client.recv(1) == b"x"
    return act
def without_address():
    socket.socket(socket.AF_INET).listen()
def datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("127.0.0.1", 0))
def local():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("/tmp/socket-%d" % os.getpid())
    listener.listen()
def abstract():
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind("\\0name-%d" % os.getpid())
attempt("tcp", tcp(socket.AF_INET, ("127.0.0.1", 0)))
attempt("any", tcp(socket.AF_INET, ("0.0.0.0", 0)))
attempt("unnamed", without_address)
attempt("udp", datagram)
attempt("unix", local)
attempt("abstract", abstract)
`;

const ways = ["tcp", "any", "unnamed", "udp", "unix", "abstract"];

/** What has nothing to do with listeners. */
const harmless = `
import socket, subprocess
one, other = socket.socketpair()
one.send(b"x")
print(other.recv(1))
print(socket.getaddrinfo("127.0.0.1", 80)[0][4])
try:
    socket.create_connection(("127.0.0.1", 9))
except ConnectionRefusedError:
    print("refused")
print(subprocess.run(["node", "-e", "console.log(1)"], capture_output=True).stdout)
`;

describe.each(engines)("policy (%s)", (engine) => {
  let home: string;
  let strict: Caisson;
  let open: Caisson;
  beforeAll(async () => {
    home = await mkdtemp("/var/tmp/caisson-policy-");
    const settings = { engine, max_storage_mb: 64 };
    open = await openCaisson({ home, root, environment: {}, settings });
    const refusing = { "policy.listeners": false, "policy.background": false };
    strict = await openCaisson({ home, root, environment: {}, settings: { ...settings, ...refusing } });
  });
  afterAll(async () => {
    await strict[Symbol.asyncDispose]();
    await open[Symbol.asyncDispose]();
    expect(findLeaks(home)).toEqual([]);
    await rm(home, { recursive: true });
  });

  it("[EXE-13] code may open listeners where policy says nothing", async () => {
    await using sandbox = await open.createSandbox();
    const { stdout, stderr } = await sandbox.executeCode({ language: "python", code: attempts });
    expect(stderr).toBe("");
    expect(stdout).toBe(ways.map((way) => `${way} open\n`).join(""));
  });

  it("[EXE-13] code may open no listener of any kind where policy refuses them, whatever its caller asks for", async () => {
    await using sandbox = await strict.createSandbox({ listeners: true });
    await using chosen = await open.createSandbox({ listeners: false });
    for (const refusing of [sandbox, chosen, chosen, chosen]) {
      const { stdout, stderr } = await refusing.executeCode({ language: "python", code: attempts });
      expect(stderr).toBe("");
      expect(stdout).toBe(ways.map((way) => `${way} EACCES\n`).join(""));
    }
  });

  it("[EXE-13] what does not listen works where policy refuses listeners", async () => {
    await using sandbox = await strict.createSandbox();
    // Also in an interpreter that has already started, as later ones are.
    for (let at = 0; at < 3; at++) {
      const { stdout, stderr } = await sandbox.executeCode({ language: "python", code: harmless });
      expect(stderr).toBe("");
      expect(stdout).toBe("b'x'\n('127.0.0.1', 80)\nrefused\nb'1\\n'\n");
    }
  });

  it("[EXE-13] code in a context, a background process or a warm interpreter may open no listener either", async () => {
    await using sandbox = await open.createSandbox({ listeners: false, warm: "start" });
    const refused = ways.map((way) => `${way} EACCES\n`).join("");
    await using context = await sandbox.contexts.create({ language: "python" });
    expect((await context.run(attempts)).stdout).toBe(refused);
    const process = await sandbox.processes.start({ command: ["python3", "-c", attempts] });
    await process.wait();
    expect((await process.read()).data.toString()).toBe(refused);
    for (let at = 0; at < 3; at++)
      expect((await sandbox.executeCode({ language: "python", code: attempts })).stdout).toBe(refused);
    const code = "require('net').createServer().on('error', (e) => console.log(e.code)).listen(0, '127.0.0.1')";
    expect((await sandbox.executeCode({ language: "node", code })).stdout).toBe("EACCES\n");
    await using node = await sandbox.contexts.create({ language: "node" });
    const waiting = `await new Promise((done) => require('net').createServer()
      .on('error', (e) => done(console.log(e.code))).listen(0, '127.0.0.1', () => done(console.log('open'))))`;
    expect((await node.run(waiting)).stdout).toBe("EACCES\n");
  });

  it("[EXE-13] background processes start where policy says nothing, and nowhere where it refuses them", async () => {
    await using sandbox = await open.createSandbox();
    const process = await sandbox.processes.start({ command: "echo started" });
    expect((await process.wait()).exit_code).toBe(0);
    await using refusing = await strict.createSandbox();
    await expect(refusing.processes.start({ command: "echo started > file" })).rejects.toMatchObject({
      code: "forbidden",
      message: expect.stringContaining("background processes"),
    });
    const context = refusing.contexts.create({ language: "python" });
    await expect(context).rejects.toMatchObject({ code: "forbidden", message: expect.stringContaining("contexts") });
    expect(refusing.processes.list()).toEqual([]);
    expect(await refusing.files.list("output")).toEqual([]);
    expect((await refusing.exec({ command: "echo fine" })).stdout).toBe("fine\n");
  });

  it("[EXE-13] a background process runs no longer than policy says, whatever its caller asks for", async () => {
    const settings = { engine, max_storage_mb: 64, "policy.background_seconds": 0.5 };
    await using brief = await openCaisson({ home, root, environment: {}, settings });
    await using sandbox = await brief.createSandbox();
    const process = await sandbox.processes.start({ command: "sleep 600" });
    expect(await process.wait()).toMatchObject({ timed_out: true });
    const asked = sandbox.processes.start({ command: "sleep 600", limits: { timeoutMs: 600 } });
    await expect(asked).rejects.toThrow(/exceeds the maximum of/);
    await expect(sandbox.processes.start({ command: "true", limits: { timeoutMs: 0 } })).rejects.toThrow(/minimum/);
  });

  it("[EXE-13] a context lives no longer than policy says", async () => {
    const settings = { engine, max_storage_mb: 64, "policy.background_seconds": 2 };
    await using brief = await openCaisson({ home, root, environment: {}, settings });
    await using sandbox = await brief.createSandbox();
    const live = async () => {
      await using context = await sandbox.contexts.create({ language: "python" });
      return (await context.run("import time\nwhile True: time.sleep(1)")).ended?.reason;
    };
    // On a slow machine its end may come before its first run.
    expect(await live().catch((error: Error) => error.message)).toContain("policy.background_seconds");
  });
});
