import type { SecureContext, TLSSocket } from "node:tls";
import { AppError, messageOf } from "../../core/errors.ts";
import { secureOver } from "../dialer.ts";
import { gateLimits } from "../gate-limits.ts";
import type { UpstreamConnection } from "../upstream-connection.ts";

/** TLS with the host itself, which must prove that it has the name. Otherwise the way out ends, with the reason. */
export async function openTls(
  upstream: UpstreamConnection,
  host: string,
  protocols: readonly string[],
  trust: SecureContext,
): Promise<TLSSocket> {
  upstream.allowHalfOpen = false; // a host that has ended takes no further request
  const socket = secureOver(upstream, {
    host,
    servername: host,
    secureContext: trust,
    rejectUnauthorized: true,
    ALPNProtocols: [...protocols],
  });
  // Its error comes after the upstream connection's end.
  upstream.why = () => (socket.errored === null ? null : explain(host, socket.errored));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error("no answer in time")), gateLimits.connectMs);
  const end = () => reject(new Error("it ended the connection"));
  socket.once("secureConnect", resolve).on("error", reject).once("close", end);
  try {
    await promise;
    return socket;
  } catch (error) {
    const reason = explain(host, error);
    upstream.destroy(new AppError("unavailable", reason));
    socket.destroy();
    throw new AppError("unavailable", reason, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function explain(host: string, error: unknown): string {
  return error instanceof AppError ? error.message : `TLS with ${host} failed: ${messageOf(error)}`;
}
