import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { valuesOf } from "../http-over/fields.ts";
import type { Way } from "./http-forward.ts";

/** Reports a file that came whole and as it is, with the digest of its bytes, where the rule wants to know. */
export function noteDelivery({ method }: IncomingMessage, answer: IncomingMessage, { target, allowed }: Way): void {
  const { delivered, protocol } = allowed.verdict.rule;
  if (delivered === undefined || method !== "GET" || answer.statusCode !== 200) return;
  if (valuesOf(answer.rawHeaders, "content-encoding").length > 0) return;
  const hash = createHash("sha256");
  answer.on("data", (piece: Buffer) => void hash.update(piece));
  answer.once("end", () => {
    if (!answer.complete) return;
    const { host, port } = target.destination;
    const scheme = protocol === "tls" ? "https" : "http";
    delivered({ url: `${scheme}://${host}:${port}${target.path}`, sha256: hash.digest("hex") });
  });
}
