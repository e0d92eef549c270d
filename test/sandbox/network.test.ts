import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Caisson } from "../../packages/server/src/app.ts";
import type { JournalEvent } from "../../packages/server/src/core/journal.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { certificate } from "../egress/certificate.ts";
import { dnsHost, type TestDns, type TestHost, tcpHost, type WebHost, webHost } from "../egress/hosts.ts";
import { http, names, tcp, tls } from "../egress/rules.ts";
import { engines, hasProgram, openTestCaisson, soak, type TestCaisson } from "../harness.ts";

const scripts = join(import.meta.dirname, "network");

describe.each(engines)("the network of a sandbox on %s", (engine) => {
  let home: TestCaisson;
  let caisson: Caisson;
  let sandbox: Sandbox;
  let dns: TestDns;
  let web: WebHost;
  let secure: WebHost;
  let echo: TestHost;
  const events: JournalEvent[] = [];

  beforeAll(async () => {
    dns = await dnsHost(names);
    [web, secure, echo] = await Promise.all([webHost(), webHost({ tls: true }), tcpHost()]);
    home = await openTestCaisson({ network: { dnsServers: [dns.address] } });
    caisson = home.caisson;
    caisson.events.subscribe((event) => void events.push(event));
    const allow = [
      http("allowed.example", web.port),
      tls("allowed.example", secure.port),
      tcp("allowed.example", echo.port),
    ];
    sandbox = await caisson.createSandbox({ engine, network: { allow } });
    await sandbox.files.write("/workspace/authority.pem", Buffer.from(certificate));
    for (const name of ["clients.py", "clients.mjs", "outside.py", "many.py"])
      await sandbox.files.write(`/workspace/${name}`, await readFile(join(scripts, name)));
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await home?.[Symbol.asyncDispose]();
    for (const host of [dns, web, secure, echo]) await host?.[Symbol.asyncDispose]();
  });

  async function lines(...command: (string | number)[]): Promise<unknown[]> {
    const { stdout, stderr, exit_code: exitCode } = await sandbox.exec({ command: command.map(String) });
    expect({ exitCode, stderr: String(stderr) }).toEqual({ exitCode: 0, stderr: "" });
    return String(stdout)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  it("[NET-03] [NET-04] reaches an allowed host in every way a program has, and another in none", async () => {
    const ports = [web.port, secure.port, echo.port];
    const told = await lines("python3", "clients.py", "allowed.example", "other.example", ...ports, "authority.pem");
    const isRequests = (line: unknown) => String(line).startsWith("requests ");
    for (const line of told.filter(isRequests)) // where that library is installed
      expect(line).toEqual([expect.any(String), "GET /requests 0", expect.not.stringContaining("GET")]);
    expect(told.filter((line) => !isRequests(line))).toEqual([
      ["urllib, by proxy", "GET /proxy 0", "HTTP 403 forbidden"],
      ["urllib, directly", "GET /direct 0", "no such name"],
      ["https, by proxy", "GET /proxy 0", expect.stringContaining("403 Forbidden")],
      ["https, directly", "GET /direct 0", "no such name"],
      ["CONNECT", "GET /tunnel 0", expect.stringContaining("403 Forbidden")],
      ["SOCKS5", "hello", "reply 2"],
      ["a raw connection", "hello", "no such name"],
      ["IPv4 only", "64", "no such name"],
    ]);
    expect(new Set(dns.asked)).toEqual(new Set(["allowed.example"]));
  });

  it.runIf(hasProgram("node"))("[NET-03] reaches an allowed host with Node, and another not", async () => {
    expect(await lines("node", "clients.mjs", "allowed.example", "other.example", web.port)).toEqual([
      ["fetch", "GET /fetch 0", "ENOTFOUND"],
      ["http", "GET /http 0", "ENOTFOUND"],
    ]);
  });

  it.runIf(hasProgram("curl"))("[NET-03] [NET-04] reaches an allowed host with curl, and another not", async () => {
    const curl = async (...options: string[]) => {
      const { stdout, exit_code: exitCode } = await sandbox.exec({
        command: ["curl", "-s", "--cacert", "authority.pem", ...options],
      });
      return `${exitCode} ${String(stdout).slice(0, 20)}`;
    };
    const direct = ["--noproxy", "*"];
    expect(await curl(`http://allowed.example:${web.port}/c`)).toBe("0 GET /c 0");
    expect(await curl(...direct, `http://allowed.example:${web.port}/c`)).toBe("0 GET /c 0");
    expect(await curl(`https://allowed.example:${secure.port}/c`)).toBe("0 GET /c 0");
    expect(await curl(...direct, `https://allowed.example:${secure.port}/c`)).toBe("0 GET /c 0");
    expect(await curl("--socks5-hostname", "127.64.0.1:1080", `https://allowed.example:${secure.port}/c`)).toBe(
      "0 GET /c 0",
    );
    expect(await curl(`http://other.example:${web.port}/c`)).toMatch(/^0 \{"type":"urn:caiss/);
    expect(await curl(...direct, `http://other.example:${web.port}/c`)).toBe("6 ");
    expect(await curl(`https://other.example:${secure.port}/c`)).toBe("56 ");
  });

  it.runIf(hasProgram("wget"))("[NET-03] [NET-04] reaches an allowed host with wget, and another not", async () => {
    const wget = async (...options: string[]) => {
      const command = ["wget", "-qO-", "-t1", "--ca-certificate=authority.pem", ...options];
      const { stdout, exit_code: exitCode } = await sandbox.exec({ command });
      return `${exitCode === 0} ${stdout}`;
    };
    expect(await wget(`http://allowed.example:${web.port}/w`)).toBe("true GET /w 0");
    expect(await wget("--no-proxy", `http://allowed.example:${web.port}/w`)).toBe("true GET /w 0");
    expect(await wget(`https://allowed.example:${secure.port}/w`)).toBe("true GET /w 0");
    expect(await wget("--no-proxy", `https://allowed.example:${secure.port}/w`)).toBe("true GET /w 0");
    expect(await wget(`https://other.example:${secure.port}/w`)).toBe("false ");
    expect(await wget("--no-proxy", `http://other.example:${web.port}/w`)).toBe("false ");
  });

  it("[NET-01] [NET-05] gets nothing out where no rule lets it, and no name server hears of it", async () => {
    const before = dns.asked.length;
    expect(await lines("python3", "outside.py", dns.address.split(":")[1] ?? "")).toEqual([[]]);
    expect(dns.asked.slice(before)).toEqual([]);
  });

  it(`holds ${soak ? "1,000" : "100 of 1,000"} connections at once`, async () => {
    const count = soak ? 1_000 : 100;
    const run = await sandbox.start({
      command: ["python3", "many.py", "allowed.example", String(echo.port), String(count)],
      stdin: "\n",
    });
    expect(String((await run.result).stdout).trim()).toBe(String(count));
  });

  it("[NET-10] loses an open download when its rule goes, and the log says why", async () => {
    await using endless = await tcpHost((socket) => {
      const more = () => {
        while (socket.write(Buffer.alloc(16_384)));
      };
      socket.on("drain", more);
      more();
    });
    await using box = await caisson.createSandbox({
      engine,
      network: { allow: [tcp("allowed.example", endless.port)] },
    });
    const code = `
import socket
connection = socket.create_connection(("allowed.example", ${endless.port}), 60)
total = 0
try:
    while chunk := connection.recv(65536):
        total += len(chunk)
        if total - len(chunk) < 1000000 <= total:
            print("a million", flush=True)
    print("ended")
except ConnectionResetError:
    print("reset")
`;
    let told = "";
    const run = await box.start({
      command: ["python3", "-c", code],
      onOutput: (_channel, chunk) => {
        told += chunk;
        return undefined;
      },
    });
    await vi.waitFor(() => expect(told).toContain("a million"), { timeout: 50_000, interval: 10 });
    (await caisson.policies()).setSandbox(box.id, { sandbox: { allow: [], deny: [] } });
    await run.result;
    expect(told).toBe("a million\nreset\n");
    expect(events.findLast((event) => event.type === "egress.ended" && event.sandbox_id === box.id)).toMatchObject({
      data: { reason: "the policy changed: no rule allows allowed.example" },
    });
  });

  it("keeps the addresses of names for the next owner, who is reached by them", async () => {
    const network = { allow: [tcp("allowed.example", echo.port), tcp("www.allowed.example", echo.port)] };
    const first = await caisson.createSandbox({ engine, keep: true, network });
    const look = "import socket; print([socket.gethostbyname(n) for n in ('www.allowed.example', 'allowed.example')])";
    const { stdout } = await first.exec({ command: ["python3", "-c", look] });
    await first.detach();
    const second = await caisson.attachSandbox(first.id);
    try {
      (await caisson.policies()).setSandbox(second.id, { sandbox: { ...network, deny: [] } });
      const speak = `
import socket
connection = socket.create_connection((${stdout.trim()}[1], ${echo.port}), 60)
connection.sendall(b"again")
print(connection.recv(5).decode())
`;
      expect((await second.exec({ command: ["python3", "-c", speak] })).stdout).toBe("again\n");
      expect((await second.exec({ command: ["python3", "-c", look] })).stdout).toBe(stdout);
    } finally {
      await second.destroy();
    }
  });

  it("[NET-11] tells of each attempt, with what it carried", async () => {
    const code = `
import socket
with socket.create_connection(("allowed.example", ${echo.port}), 60) as connection:
    connection.sendall(b"hello")
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(100): pass
try: socket.gethostbyname("unheard.example")
except OSError: pass
`;
    const begun = events.length;
    expect((await sandbox.exec({ command: ["python3", "-c", code] })).exit_code).toBe(0);
    const own = () => events.slice(begun).filter((event) => event.sandbox_id === sandbox.id);
    await vi.waitFor(() => expect(own().map(({ type }) => type)).toContain("egress.ended"), { timeout: 30_000 });
    const told = (type: string) => own().find((event) => event.type === type)?.data;
    expect(told("egress.allowed")).toMatchObject({
      host: "allowed.example",
      address: "127.0.0.1",
      rule: `allowed.example:${echo.port}`,
    });
    expect(told("egress.ended")).toMatchObject({ bytes_up: 5, bytes_down: 5, reason: null });
    expect(told("egress.denied")).toMatchObject({
      host: "unheard.example",
      address: null,
      reason: "no rule allows unheard.example",
    });
  });
});
