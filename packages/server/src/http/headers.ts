import type { FastifyReply } from "fastify";

/** On every response. Nothing that this server answers needs a script, a frame or a cookie. */
export const commonHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "cache-control": "no-store",
};

const documentPolicy =
  "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Bytes of a sandbox are never a document of this origin: hazard 2, claim S32. */
export const sandboxBytes: Readonly<Record<string, string>> = {
  "content-type": "application/octet-stream",
  "content-disposition": "attachment",
  "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
};

const common = Object.entries(commonHeaders);

export function setHeaders(reply: FastifyReply, requestId: string): void {
  for (const [name, value] of common) reply.header(name, value);
  reply.header("content-security-policy", documentPolicy);
  reply.header("x-request-id", requestId);
}

/** RFC 6266 with RFC 8187: a name that a sandbox chose cannot end the header, nor the quotes in it. */
export function attachment(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, "_") || "file";
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

/** On the answer of a run, before its output: the client knows the run by it while it goes on. */
export const runHeaders = (id: string): Record<string, string> => ({ "x-caisson-run-id": id });

export const runHeadersDescribed = { "X-Caisson-Run-Id": "the run's id, before any of its output" };
