import { AppError } from "../../core/errors.ts";
import { type PortVisibility, portVisibilities } from "../../core/port.ts";
import { namedSandbox } from "./sandboxes.ts";
import type { Verb } from "./verb.ts";
import { lineVerb, tableVerb } from "./verb-kinds.ts";

function portOf(text: string | undefined): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new AppError("invalid", `invalid port '${text}'`, { hint: "use a number from 1 to 65535" });
  return port;
}

function visibilityOf(text: string | undefined): PortVisibility {
  const found = portVisibilities.find((known) => known === text);
  if (found === undefined)
    throw new AppError("invalid", `unknown visibility '${text}'`, { hint: portVisibilities.join(", ") });
  return found;
}

const list = tableVerb({
  summary: "list the ports of a sandbox that can be opened without an API key",
  usage: "SANDBOX",
  call: async (call) => (await namedSandbox(call)).ports.list(),
  headings: ["PORT", "VISIBILITY", "URL"],
  rows: (found) => found.map(({ port, visibility, url }) => [port, visibility, url]),
});

const set = lineVerb({
  summary: "set who may open a port: private (API key), token (API key or link) or public (everyone)",
  usage: "SANDBOX PORT VISIBILITY",
  call: async (call, _, port, visibility) =>
    (await namedSandbox(call)).ports.set(portOf(port), visibilityOf(visibility)),
  line: ({ url, port, visibility }) => url ?? `${port} ${visibility}`,
});

const link = lineVerb({
  summary: "print a link that opens a port in a browser",
  usage: "SANDBOX PORT",
  options: { expires: { type: "string", value: "SECONDS", help: "lifetime of the link (default: 3600)" } },
  call: async (call, _, port) => {
    const expires = call.options.text("expires");
    const { ports } = await namedSandbox(call);
    return ports.link(portOf(port), expires === undefined ? {} : { expires_in_seconds: Number(expires) });
  },
  line: ({ url }) => url,
});

export const portVerbs: Record<string, Verb> = { "ports list": list, "ports set": set, "ports link": link };
