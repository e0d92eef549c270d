import { createHmac, randomBytes } from "node:crypto";
import { webhookLimits } from "./limits.ts";

/** Standard Webhooks 1.0: `whsec_` and the key in base64. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(webhookLimits.secretBytes).toString("base64")}`;
}

/** The headers of one try: the id stays the same from try to try, so that a receiver can tell a repetition. */
export function signedHeaders(secret: string, id: string, atMs: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000));
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    "content-type": "application/json",
    "user-agent": "caisson",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}
