/** Checks rules and brings them into their one form, or refuses them with the reason (NET-02). */
import { type AllowRule, type DenyRule, type EgressProtocol, egressProtocols } from "../core/egress.ts";
import type { RuleDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import type { Range } from "../core/limits.ts";
import { checkRange } from "../core/size.ts";
import { egressLimits } from "./limits.ts";
import { readNetwork } from "./network.ts";
import { isPublicSuffix } from "./public-suffix.ts";
import { readHost } from "./read-host.ts";
import { impliedProtocol, isAddressText, readRuleText } from "./rule-text.ts";

export function parseAllowRule(text: string): AllowRule {
  return checkAllowRule(readRuleText(text));
}

export function checkAllowRule(draft: RuleDraft): AllowRule {
  const host = checkHost(draft.host);
  const port = checkPort(draft.port ?? 443);
  const protocol = checkProtocol(draft.protocol ?? impliedProtocol(port, isAddressText(host)));
  if (protocol === "tls" && isAddressText(host))
    refuse(`the address ${host} cannot have protocol tls`, "use the protocol tcp: TLS handshakes contain no addresses");
  const { inspect, methods, paths, ranges, uploadAskBytes } = draft;
  if (inspect === true && protocol !== "tls")
    refuse("only tls can be inspected", "omit inspect: http is readable without it");
  if ((methods ?? paths) !== undefined && inspect !== true && protocol !== "http")
    refuse("methods and paths require http or inspection", "set inspect: true");
  return {
    host,
    port,
    protocol,
    ...(ranges === undefined || ranges.length === 0 ? {} : { ranges: checkRanges(ranges) }),
    ...(inspect === true ? { inspect } : {}),
    ...(methods === undefined ? {} : { methods: checkMethods(methods) }),
    ...(paths === undefined ? {} : { paths: checkPaths(paths) }),
    ...(uploadAskBytes === undefined
      ? {}
      : { uploadAskBytes: checkWhole(uploadAskBytes, egressLimits.uploadAskBytes, "upload to ask about") }),
  };
}

/** `evil.example.com`, `*.example.com:8443`, `203.0.113.0/24`, `*`. */
export function parseDenyRule(text: string): DenyRule {
  const network = readNetwork(text.trim());
  if (network !== undefined) return { host: network.text };
  if (text.trim() === "*") return { host: "*" };
  const { protocol, ...rest } = readRuleText(text);
  if (protocol !== undefined) refuse(`'${text}' cannot deny a single protocol`, "deny a name, or a name and a port");
  return checkDenyRule(rest);
}

export function checkDenyRule({ host, port }: DenyRule): DenyRule {
  const end = port === undefined ? {} : { port: checkPort(port) };
  const known = host === "*" ? host : readNetwork(host)?.text;
  if (known !== undefined) return { host: known, ...end };
  const base = host.startsWith("*.") ? host.slice(2) : host;
  return { host: `${host.slice(0, host.length - base.length)}${nameOf(base, base !== host)}`, ...end };
}

function checkHost(text: string): string {
  if (text === "*") refuse("'*' would allow all hosts", "list the hosts, such as api.example.com or *.example.com");
  const isWildcard = text.startsWith("*.");
  const host = nameOf(isWildcard ? text.slice(2) : text, isWildcard);
  if (host === "localhost" || host.endsWith(".localhost"))
    refuse(`${host} is the sandbox itself`, "programs reach it without a rule");
  if (!isWildcard) return host;
  if (isPublicSuffix(host))
    refuse(
      `'*.${host}' would allow names of many owners`,
      `anyone can register a name under ${host}: write a longer name`,
    );
  return `*.${host}`;
}

function nameOf(text: string, isWildcard: boolean): string {
  if (text.includes("*")) refuse(`'${text}' has a * inside`, "a * is only supported at the start: *.example.com");
  const read = readHost(text);
  if (read.kind === "invalid") return refuse(`'${text}' is not a host: ${read.problem}`);
  if (isWildcard && read.kind !== "name") refuse(`an address cannot have a wildcard: ${read.host}`);
  return read.host;
}

function checkPort(port: number): number {
  return checkWhole(port, { min: 1, max: 65_535, default: 443 }, "port");
}

export function checkWhole(value: number, range: Range, what: string): number {
  return Number.isInteger(value) ? checkRange(value, range, what, String) : refuse(`the ${what} is not a whole number`);
}

function checkProtocol(text: string): EgressProtocol {
  const known = egressProtocols.find((protocol) => protocol === text);
  return known ?? refuse(`unknown protocol '${text}'`, `protocols: ${egressProtocols.join(", ")}`);
}

function checkRanges(ranges: readonly string[]): string[] {
  checkCount(ranges, egressLimits.ranges, "ranges");
  const { ipv4, ipv6 } = egressLimits.rangePrefix;
  const hint = `write ADDRESS/PREFIX, such as 10.1.0.0/16; the prefix is at least /${ipv4} (IPv6: /${ipv6})`;
  return unique(ranges.map((text) => readNetwork(text)?.text ?? refuse(`'${text}' is not a network`, hint)));
}

function checkMethods(methods: readonly string[]): string[] {
  checkCount(methods, egressLimits.methods, "methods");
  const isToken = (text: string) => /^[A-Z][A-Z-]*$/.test(text) && text.length <= egressLimits.methodCharacters;
  return unique(methods.map((text) => text.toUpperCase())).map((text) =>
    isToken(text) ? text : refuse(`'${text}' is not an HTTP method`),
  );
}

function checkPaths(paths: readonly string[]): string[] {
  checkCount(paths, egressLimits.paths, "paths");
  const isPath = (text: string) => /^\/[!-~]*$/.test(text) && !/[?#]|\*./.test(text);
  const hint = "a path starts with /, can end in *, and has no query";
  return unique(paths).map((text) =>
    isPath(text) && text.length <= egressLimits.pathCharacters ? text : refuse(`'${text}' is not a path`, hint),
  );
}

function checkCount(values: readonly unknown[], most: number, what: string): void {
  if (values.length === 0) refuse(`an empty list of ${what} matches nothing`, "omit it");
  if (values.length > most) refuse(`too many ${what} in a rule (limit: ${most})`);
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

function refuse(message: string, hint?: string): never {
  throw new AppError("invalid", message, hint === undefined ? {} : { hint });
}
