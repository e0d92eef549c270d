/** Fields that concern one connection, not the message (RFC 9110, 7.6.1); they are not passed on. */
const ofConnection = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

/** Names and values in turn, as Node has them. */
export function forwardable(raw: readonly string[], leaveOut: readonly string[] = []): string[] {
  const named = valuesOf(raw, "connection").flatMap((value) =>
    value
      .toLowerCase()
      .split(",")
      .map((name) => name.trim()),
  );
  // A length frames the body: without it the body would be read as the next request.
  const dropped = new Set([...ofConnection, ...named.filter((name) => name !== "content-length"), ...leaveOut]);
  const kept: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = "", value = ""] = [raw[i], raw[i + 1]];
    if (!dropped.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

export function valuesOf(raw: readonly string[], name: string): string[] {
  return raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name);
}

/** How the body is framed is written anew; a request without one says so where a server might wait. */
export function requestFraming(method: string, raw: readonly string[]): string[] {
  if (valuesOf(raw, "transfer-encoding").length > 0) return ["Transfer-Encoding", "chunked"];
  const lengthless = valuesOf(raw, "content-length").length === 0;
  return lengthless && ["POST", "PUT", "PATCH"].includes(method) ? ["Content-Length", "0"] : [];
}
