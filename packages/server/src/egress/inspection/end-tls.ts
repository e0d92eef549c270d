import type { Duplex } from "node:stream";
import { createServer, type TLSSocket } from "node:tls";
import { gateLimits } from "../gate-limits.ts";
import { reset } from "../relay.ts";
import type { Authority } from "./authority.ts";

export interface EndTerms {
  host: string;
  protocol: string;
  authority: Authority;
  nowMs: number;
}

/** Answers a program's TLS as the host would; undefined when the program did not agree. A break shows as a reset to it. */
export async function endTls(
  client: Duplex,
  { host, protocol, authority, nowMs }: EndTerms,
): Promise<TLSSocket | undefined> {
  const { promise, resolve } = Promise.withResolvers<TLSSocket | undefined>();
  const fail = () => resolve(undefined);
  const server = createServer({
    ALPNProtocols: [protocol],
    SNICallback: (_name, done) => done(null, authority.contextFor(host, nowMs)),
    handshakeTimeout: gateLimits.greetingMs,
  });
  server.once("secureConnection", resolve).once("tlsClientError", fail);
  client.allowHalfOpen = false; // one that has ended its TLS hears no more
  client.on("error", fail).once("end", fail).once("close", fail);
  server.emit("connection", client);
  const ended = await promise;
  if (ended === undefined) return undefined;
  ended.on("error", () => undefined);
  return Object.assign(ended, {
    // A tunnel that is destroyed before the program has ended its side is reset, with what the program has not read.
    destroySoon: () => void ended.end(),
    reset: () => {
      reset(client);
      ended.destroy();
    },
  });
}
