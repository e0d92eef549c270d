import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";

/** Names and values in turn, without those that begin with a colon. */
export function fieldsOf(headers: IncomingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(":") ? [] : [value ?? []].flat().flatMap((one) => [name, one]),
  );
}

export function headersOf(fields: readonly string[]): OutgoingHttpHeaders {
  const headers: Record<string, string[]> = {};
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]?.toLowerCase() ?? "";
    headers[name] = [...(headers[name] ?? []), fields[i + 1] ?? ""];
  }
  return Object.fromEntries(
    Object.entries(headers).map(([name, [first, ...rest]]) => [name, rest.length > 0 ? [first ?? "", ...rest] : first]),
  );
}
