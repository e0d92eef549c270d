import { once } from "node:events";
import { type AddressInfo, connect as connectPlain } from "node:net";
import { text } from "node:stream/consumers";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CertificatePem } from "../../packages/server/src/core/certificate.ts";
import { openFastify } from "../../packages/server/src/http/fastify-app.ts";
import { httpLimits } from "../../packages/server/src/http/limits.ts";
import { openTlsServer, replaceCertificate } from "../../packages/server/src/http/tls-server.ts";
import { TestAuthority } from "./certificates.ts";

const authority = new TestAuthority();

/** An HTTP server without routes behind TLS. */
async function openServer(pem: CertificatePem, headersTimeoutMs = 20_000) {
  const app = openFastify({ headersTimeoutMs }, []);
  await app.listen({ host: "127.0.0.1", port: 0 }); // from now on it looks for slow clients
  const server = openTlsServer(pem, app.server);
  await once(server.listen({ host: "127.0.0.1", port: 0 }), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...{ app, server, port },
    connect: async (options: ConnectionOptions = {}): Promise<TLSSocket> => {
      const socket = connect({
        port,
        host: "127.0.0.1",
        servername: "localhost",
        ca: authority.certificate,
        ...options,
      });
      await once(socket, "secureConnect");
      return socket;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      await app.close();
    },
  };
}

const ask = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const old = { maxVersion: "TLSv1.1", minVersion: "TLSv1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
const former = authority.issue("localhost", 30);
const next = authority.issue("localhost", 60);

describe("TLS of the API", () => {
  let server: Awaited<ReturnType<typeof openServer>>;
  beforeAll(async () => {
    server = await openServer(former);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[IDN-09] [S109] answers with HTTP/1.1 over TLS 1.2 and 1.3", async () => {
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const socket = await server.connect({
        minVersion: version,
        maxVersion: version,
        ALPNProtocols: ["h2", "http/1.1"],
      });
      expect([socket.getProtocol(), socket.alpnProtocol]).toEqual([version, "http/1.1"]);
      socket.write(ask);
      expect(await text(socket)).toMatch(/^HTTP\/1.1 404 /);
    }
  });

  it("[S109] takes no older TLS and no plain HTTP", async () => {
    await expect(server.connect(old)).rejects.toThrow();
    const plain = connectPlain(server.port, "127.0.0.1").on("error", () => undefined);
    plain.write(ask);
    expect(await text(plain)).not.toContain("HTTP/");
  });

  it("[IDN-09] [S109] uses another certificate for new connections, and open ones go on", async () => {
    const early = await server.connect();
    const { fingerprint256 } = early.getPeerCertificate();
    replaceCertificate(server.server, next);
    const late = await server.connect();
    expect(late.getPeerCertificate().fingerprint256).not.toBe(fingerprint256);
    for (const socket of [early, late]) {
      socket.write(ask);
      expect(await text(socket)).toMatch(/^HTTP\/1.1 404 /);
    }
    await expect(server.connect(old)).rejects.toThrow();
  });

  it("[S109] ends a connection whose headers do not come in time, and bounds their number", async () => {
    await using slow = await openServer(former, 200);
    const socket = await slow.connect();
    socket.write("GET / HTTP/1.1\r\nX-Slow: ");
    expect(await text(socket)).toMatch(/^HTTP\/1.1 408 /);
    expect(slow.server.maxConnections).toBe(httpLimits.connections);
  });
});
