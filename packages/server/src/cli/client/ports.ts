import { AppError } from "../../core/errors.ts";
import { type PortVisibility, portVisibilities } from "../../core/port.ts";
import { tellJson, tellLine, tellTable } from "./tell.ts";
import type { Verb } from "./verb.ts";

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

const list: Verb = {
  summary: "list the ports of a sandbox that can be opened without an API key",
  usage: "SANDBOX",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const found = await (await caisson.getSandbox(words[0] ?? "")).ports.list();
    if (json) return tellJson(io, found);
    return tellTable(
      io,
      ["PORT", "VISIBILITY", "URL"],
      found.map(({ port, visibility, url }) => [port, visibility, url]),
    );
  },
};

const set: Verb = {
  summary: "set who may open a port: private (API key), token (API key or link) or public (everyone)",
  usage: "SANDBOX PORT VISIBILITY",
  words: [3, 3],
  run: async ({ caisson, words: [id = "", port, visibility], io, json }) => {
    const set = await (await caisson.getSandbox(id)).ports.set(portOf(port), visibilityOf(visibility));
    return json ? tellJson(io, set) : tellLine(io, set.url ?? `${set.port} ${set.visibility}`);
  },
};

const link: Verb = {
  summary: "print a link that opens a port in a browser",
  usage: "SANDBOX PORT",
  words: [2, 2],
  options: { expires: { type: "string", value: "SECONDS", help: "lifetime of the link (default: 3600)" } },
  run: async ({ caisson, options, words: [id = "", port], io, json }) => {
    const expires = options.text("expires");
    const made = await (await caisson.getSandbox(id)).ports.link(
      portOf(port),
      expires === undefined ? {} : { expires_in_seconds: Number(expires) },
    );
    return json ? tellJson(io, made) : tellLine(io, made.url);
  },
};

export const portVerbs: Record<string, Verb> = { "ports list": list, "ports set": set, "ports link": link };
