import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import { ValueRedactor } from "../../packages/server/src/dlp/redactor.ts";
import { as, QueueHome } from "../approvals/fixture.ts";
import { certificate } from "./certificate.ts";
import { exchange, field } from "./field.ts";
import { dnsHost, webHost } from "./hosts.ts";
import { http, tls } from "./rules.ts";

const at = "127.64.0.1";
const secret = "sk-Live-4f9A0c27D1e8Zq";
const hex = Buffer.from(secret).toString("hex");
const hosts = [secret, secret.toLowerCase(), hex, hex.replace(/.{15}/g, "$&."), `a.${secret}`, `x${secret}y.b`].map(
  (name) => `${name}.example.net`,
);
/** Forms that would show the value. */
const shows = (text: string) => {
  const folded = text.toLowerCase().replaceAll(/[.\\]/g, "");
  return [secret.toLowerCase(), hex].some((form) => folded.includes(form));
};

async function socks(socket: Socket, name: string): Promise<Buffer> {
  socket.write(Buffer.from([5, 1, 0]));
  await once(socket, "data");
  socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3, name.length]), Buffer.from(name), Buffer.from([0, 80])]));
  return (await once(socket, "data"))[0] as Buffer;
}

describe("a host's name that holds a value of its sandbox", () => {
  it("[S95] is refused at every door, asked of nobody, and written down without the value", async () => {
    await using home = await QueueHome.make();
    await using queue = await home.open();
    const folder = await mkdtemp(join(tmpdir(), "caisson-names-"));
    const redactor = new ValueRedactor();
    redactor.hide([Buffer.from(secret)]);
    await using dns = await dnsHost({});
    // Where every name is allowed, and where it would be asked about.
    for (const policy of [{ allow: [http("*.example.net", 80)] }, { unknown: "ask" } as const]) {
      const namesPath = join(folder, `names-${"allow" in policy}`);
      await using box = await field({ policy, dns: dns.address, approvals: queue.queue, redactor, namesPath });
      for (const host of hosts) {
        expect(await box.lookup(host)).toBe(3);
        const open = () => box.tunnels.connect(at, 3128);
        const get = `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        for (const asked of [get, `CONNECT ${host}:80 HTTP/1.1\r\n\r\n`]) {
          const { text } = await exchange(await open(), asked);
          expect(text).toMatch(/^HTTP\/1\.1 403 /);
          expect(text).toContain("holds a secret of this sandbox");
          expect(text).toContain("take the secret out of the name");
          expect(shows(text)).toBe(false);
        }
        expect((await socks(await box.tunnels.connect(at, 1080), host))[1]).toBe(2);
      }
      expect(box.attempts.length).toBeGreaterThanOrEqual(4 * hosts.length - 1);
      expect(box.attempts.map(({ host }) => host)).toContain("***REDACTED***.example.net");
      expect(new Set(box.attempts.map(({ verdict }) => verdict))).toEqual(new Set(["denied"]));
      expect(shows(JSON.stringify(box.attempts))).toBe(false);
      expect(shows(await readFile(namesPath, "utf8").catch(() => ""))).toBe(false);
    }
    expect(dns.asked).toEqual([]);
    expect(await queue.queue.list(as("operator"), { limit: 100 })).toEqual([]);
    await rm(folder, { recursive: true });
  });

  it("[S95] is not shown where a handshake, a Host or a path says it on a connection to another host", async () => {
    const redactor = new ValueRedactor();
    redactor.hide([Buffer.from(secret)]);
    await using secure = await webHost({ tls: true });
    await using plain = await webHost();
    await using dns = await dnsHost({ "allowed.example": "127.0.0.1" });
    const paths = { ...http("allowed.example", plain.port), paths: ["/v1/*"] };
    const policy = { allow: [tls("allowed.example", secure.port), paths] };
    await using box = await field({ policy, dns: dns.address, redactor });
    const address = String(await box.lookup("allowed.example"));
    for (const host of hosts.slice(0, 4)) {
      const socket = await box.tunnels.connect(at, 3128);
      socket.write(`CONNECT allowed.example:${secure.port} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await once(socket, "data");
      await exchange(connectTls({ socket, servername: host, ca: certificate }), "GET / HTTP/1.1\r\n\r\n");
      const direct = () => box.tunnels.connect(address, plain.port);
      await exchange(await direct(), `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      const own = `Host: allowed.example:${plain.port}\r\nConnection: close\r\n\r\n`;
      const { text } = await exchange(await direct(), `GET /x/${host.split(".")[0]} HTTP/1.1\r\n${own}`);
      expect(text).toMatch(/^HTTP\/1\.1 403 /);
    }
    const told = JSON.stringify(box.attempts);
    expect(told).toMatch(/ClientHello names \*{3}REDACTED\*{3}\.example\.net/);
    expect(told).toMatch(/Host is .*REDACTED/);
    expect(told).toMatch(/no rule lets GET \/x\/\*{3}REDACTED/);
    expect(shows(told)).toBe(false);
  });

  it("is any other name without it", async () => {
    const redactor = new ValueRedactor();
    redactor.hide([Buffer.from(secret)]);
    for (const host of ["api.example.net", "sk-live.example.net", `${secret.slice(0, 20)}.example.net`, "4f9a0c27"])
      expect(redactor.hostName(host)).toBe(host);
    expect(redactor.hostName(`x.${secret}.y.${hex}.b.example.net`)).toBe("***REDACTED***.b.example.net");
  });
});
