import { isIPv6 } from "node:net";
import type { AllowRule, DenyRule, EgressProtocol } from "../core/egress.ts";
import { AppError } from "../core/errors.ts";
import { egressLimits } from "./limits.ts";

/** What a rule's text says, unchecked. */
interface RuleWords {
  host: string;
  port?: number;
  protocol?: string;
}

const grammar = /^(?<host>\[[^\]]*\]|[^:/[\]]+)(?::(?<port>\d{1,5}))?(?:\/(?<protocol>[a-z]+))?$/;
const form = "a rule is NAME, NAME:PORT or NAME:PORT/PROTOCOL: api.example.com, *.example.com:8443/tls";

/** `api.example.com`, `*.example.com:8443/tls`, `[2606:4700::1111]:853`. */
export function readRuleText(text: string): RuleWords {
  if (text.length > egressLimits.ruleCharacters) throw new AppError("invalid", "the rule is too long", { hint: form });
  if (isIPv6(text)) return { host: text };
  const words = grammar.exec(text.trim())?.groups;
  if (words?.host === undefined) throw new AppError("invalid", `'${text}' is not a rule`, { hint: form });
  return {
    host: words.host,
    ...(words.port === undefined ? {} : { port: Number(words.port) }),
    ...(words.protocol === undefined ? {} : { protocol: words.protocol }),
  };
}

/** What a port carries unless a rule says it: an address has no name that a handshake could hold. */
export function impliedProtocol(port: number, isAddress: boolean): EgressProtocol {
  if (port === 80) return "http";
  return port === 443 && !isAddress ? "tls" : "tcp";
}

/** The shortest text that reads as this rule's host, port and protocol. */
export function formatAllowRule({ host, port, protocol }: AllowRule): string {
  const isImplied = protocol === impliedProtocol(port, isAddressText(host));
  return `${bracket(host)}${port === 443 ? "" : `:${port}`}${isImplied ? "" : `/${protocol}`}`;
}

export function formatDenyRule({ host, port }: DenyRule): string {
  return port === undefined ? host : `${bracket(host)}:${port}`;
}

/** Of a host in its one form: names end in a letter (`readHost`). */
export function isAddressText(host: string): boolean {
  return host.includes(":") || /^[\d.]+$/.test(host);
}

function bracket(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
