import type { Server } from "node:http";
import { createServer, type Server as TlsServer } from "node:tls";
import type { CertificatePem } from "../core/certificate.ts";
import { httpLimits } from "./limits.ts";

/**
 * Passes TLS connections to an HTTP server, which checks and limits them like all others. The caller makes it listen.
 * Versions and ciphers are Node's: TLS 1.2 or newer.
 */
export function openTlsServer({ cert, key }: CertificatePem, http: Server): TlsServer {
  const server = createServer({
    ...{ cert, key },
    ALPNProtocols: ["http/1.1"],
    handshakeTimeout: httpLimits.handshakeMs,
    noDelay: true,
  });
  server.maxConnections = httpLimits.connections;
  server.on("secureConnection", (socket) => http.emit("connection", socket));
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return server;
}

/** Uses another certificate for new connections. Open ones go on with the one that they began with. */
export function replaceCertificate(server: TlsServer, { cert, key }: CertificatePem): void {
  server.setSecureContext({ cert, key });
}
