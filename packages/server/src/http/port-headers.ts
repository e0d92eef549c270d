/** Fields by which a program could act on the origin that serves it: cookies, scripts that stay, who may read, where a page goes. */
const ofOrigin =
  /^(set-cookie|service-worker-allowed|clear-site-data|strict-transport-security|refresh|nel|report-to|reporting-endpoints|origin-agent-cluster|x-frame-options|content-security-policy.*|access-control-.*|cross-origin-.*)$/i;

/** On the API's own origin, an answer of a program is no document (hazard 2). */
const contained: Readonly<Record<string, string>> = {
  "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
};

/** An answer of the path form: nothing in it acts on this origin, and a way within the program stays within it. */
export function pathAnswerHeaders(raw: readonly string[], base: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = "", value = ""] = [raw[i]?.toLowerCase(), raw[i + 1]];
    if (ofOrigin.test(name)) continue;
    const shown = name === "location" && /^\/(?!\/)/.test(value) ? base + value : value;
    headers[name] = headers[name] === undefined ? shown : `${headers[name]}, ${shown}`;
  }
  return { ...headers, ...contained };
}

/** An answer on an origin of its own: its cookies are for that one alone. */
export function ownOriginHeaders(raw: readonly string[]): string[] {
  const headers: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = "", value = ""] = [raw[i], raw[i + 1]];
    const isCookie = name.toLowerCase() === "set-cookie";
    headers.push(name, isCookie ? value.replace(/;\s*domain\s*=[^;]*/gi, "") : value);
  }
  return headers;
}
