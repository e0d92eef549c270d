import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { duplexPair } from "node:stream";
import { connect, TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { Authority, makeAuthorityKey } from "./authority.ts";

const nowMs = Date.now();
const key = makeAuthorityKey(nowMs);
const authority = new Authority(key);

async function handshake(host: string, ca: string, at = nowMs): Promise<X509Certificate> {
  const [near, far] = duplexPair();
  const server = new TLSSocket(far, { isServer: true, secureContext: authority.contextFor(host, at) });
  server.on("error", () => undefined);
  const client = connect({ socket: near, servername: host, ca });
  await once(client, "secureConnect");
  const certificate = client.getPeerX509Certificate();
  client.destroy();
  server.destroy();
  if (certificate === undefined) throw new Error("no certificate");
  return certificate;
}

describe("the authority of a sandbox", () => {
  it("is one that may sign servers and nothing further", () => {
    const certificate = new X509Certificate(authority.certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkIssued(certificate)).toBe(true);
    expect(certificate.validToDate.getTime()).toBeGreaterThan(nowMs + 3_600 * 86_400_000);
  });

  it("speaks for a host to whoever trusts it", async () => {
    const certificate = await handshake("api.example.com", key.certificate);
    expect(certificate.checkHost("api.example.com")).toBe("api.example.com");
    expect(certificate.checkHost("www.example.com")).toBeUndefined();
    expect(certificate.ca).toBe(false);
  });

  it.each([`${"a".repeat(63)}.example.com`, "xn--bcher-kva.example", "127.0.0.1", "2001:db8::1"])(
    "makes a certificate for %s that holds for it",
    async (host) => {
      const [near, far] = duplexPair();
      const server = new TLSSocket(far, { isServer: true, secureContext: authority.contextFor(host, nowMs) });
      const client = connect({
        socket: near,
        host,
        ca: key.certificate,
        ...(/^[a-z]/.test(host) && !host.includes(":") ? { servername: host } : {}),
      });
      await once(client, "secureConnect");
      expect(client.authorized).toBe(true);
      client.destroy();
      server.destroy();
    },
  );

  it("is not trusted by another sandbox", async () => {
    const other = makeAuthorityKey(nowMs);
    await expect(handshake("api.example.com", other.certificate)).rejects.toThrow();
  });

  it("makes a new certificate when the old one is about to end", () => {
    const first = authority.contextFor("b.example.com", nowMs);
    expect(authority.contextFor("b.example.com", nowMs)).toBe(first);
    expect(authority.contextFor("b.example.com", nowMs + 29.5 * 86_400_000)).not.toBe(first);
  });

  it("is the same again from what was kept of it", async () => {
    const again = new Authority(JSON.parse(JSON.stringify(key)));
    expect(again.certificate).toBe(authority.certificate);
    expect(new X509Certificate(again.certificate).fingerprint256).toBe(
      new X509Certificate(key.certificate).fingerprint256,
    );
  });
});
