import type { ServerInfo, ServerToolResult, ServerVersionInfo } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { parseNumber } from "../../core/size.ts";
import type { RunIo } from "../run.ts";
import { visible } from "../terminal.ts";
import { connectVerb } from "./connect-client.ts";
import { clearedBy, clearOption, settingOptions, settingsOf } from "./server-options.ts";
import { tellJson, tellLine, tellTime } from "./tell.ts";
import { readArguments } from "./tools.ts";
import type { Verb } from "./verb.ts";
import { lineVerb, quietVerb, tableVerb } from "./verb-kinds.ts";

const ms = (value: number | null) => (value === null ? "-" : `${Math.round(value)} ms`);

const list = tableVerb({
  summary: "list hosted MCP servers, newest first",
  call: ({ caisson }) => caisson.servers.list(),
  headings: ["NAME", "ID", "STATE", "VERSION", "CALLS", "ERRORS", "P50", "P95", "P99", "MEMORY"],
  rows: (found) =>
    found.map(({ calls, ...one }) => [
      ...[one.name, one.id, one.state, versionOf(one), calls.count, calls.errors],
      ...[ms(calls.p50_ms), ms(calls.p95_ms), ms(calls.p99_ms), `${Math.round(one.memory_mb)} MB`],
    ]),
});

function versionOf({ current, newest }: Pick<ServerInfo, "current" | "newest">): string {
  if (current === newest) return String(current);
  return `${current ?? "none"} (newest: ${newest})`;
}

const show: Verb = {
  summary: "show a hosted server, its settings and statistics",
  usage: "SERVER",
  words: [1, 1],
  run: async ({ caisson, words, io }) => tellJson(io, await caisson.servers.get(words[0] ?? "")),
};

const logs: Verb = {
  summary: "print the output of a hosted server",
  usage: "SERVER",
  words: [1, 1],
  options: { follow: { type: "boolean", short: "f", help: "print new output until interrupted" } },
  run: async ({ caisson, words, io, options, json }) => {
    for await (const data of caisson.servers.logs(words[0] ?? "", { follow: options.flag("follow") }))
      io.stdout.write(json ? `${JSON.stringify({ data })}\n` : visibleLines(data));
    return 0;
  },
};

function visibleLines(text: string): string {
  return text
    .split("\n")
    .map((line) => visible(line))
    .join("\n");
}

const restart = lineVerb({
  summary: "stop a hosted server when calls under way have finished; the next call starts it",
  usage: "SERVER",
  call: ({ caisson }, server) => caisson.servers.restart(server),
  line: ({ name, state }) => `${name}: ${state}`,
});

const stop = lineVerb({
  summary: "stop a hosted server at once; the next call starts it",
  usage: "SERVER",
  call: ({ caisson }, server) => caisson.servers.stop(server),
  line: ({ name, state }) => `${name}: ${state}`,
});

const remove = quietVerb(
  "delete a hosted server with its versions, its /data and its log",
  "SERVER",
  ({ caisson }, id) => caisson.servers.delete(id),
);

const set: Verb = {
  summary: "change settings of a hosted server",
  usage: "SERVER",
  words: [1, 1],
  about:
    "A repeatable option replaces all values of its setting; --clear removes them.\n" +
    "Network, secrets, limits and idle timeout change at once. Environment, command and port restart a running server, and\n" +
    "the output says so. The image counts from the next deploy on. The storage changes only before the server has data.",
  options: { ...settingOptions, ...clearOption },
  run: async ({ caisson, words: [server = ""], options, io, json }) => {
    const given = settingsOf(options);
    const settings = { ...given, ...clearedBy(options, given) };
    if (Object.keys(settings).length === 0) throw new AppError("invalid", "missing a setting", { hint: "see --help" });
    const changed = await caisson.servers.change(server, settings);
    if (json) return tellJson(io, changed);
    return tellLine(io, `${changed.name}: changed${changed.restarted ? ", restarted" : ""}`);
  },
};

const tools = tableVerb({
  summary: "list the tools of a hosted server",
  usage: "SERVER",
  call: ({ caisson }, server) => caisson.servers.tools(server),
  headings: ["NAME", "DESCRIPTION"],
  rows: (found) => found.map(({ name, title, description }) => [name, (description ?? title ?? "").split("\n")[0]]),
});

const call: Verb = {
  summary: "call a tool of a hosted server",
  usage: "SERVER TOOL [FIELD=VALUE…]",
  about: "A value that is valid JSON is parsed: limit=5, names='[\"a\"]', text='\"5\"'. Any other value is text.",
  words: [2, 64],
  run: async ({ caisson, words: [server = "", tool = "", ...given], io, json }) => {
    const result = await caisson.servers.call(server, tool, readArguments(given));
    if (json) tellJson(io, result);
    else tellResult(result, result.isError ? io.stderr : io.stdout);
    return result.isError ? 1 : 0;
  },
};

function tellResult({ content, structuredContent }: ServerToolResult, to: RunIo["stdout"]): void {
  for (const { type, ...part } of content) {
    const text =
      type === "text" ? String(part.text) : `[${type}] ${String(part.uri ?? part.name ?? part.mimeType ?? "")}`;
    to.write(`${visibleLines(text)}\n`);
  }
  if (content.length === 0 && structuredContent !== undefined)
    to.write(`${visibleLines(JSON.stringify(structuredContent, null, 2))}\n`);
}

const versions = tableVerb({
  summary: "list the versions of a hosted server, newest first",
  usage: "SERVER",
  call: ({ caisson }, server) => caisson.servers.versions(server),
  headings: ["VERSION", "STATE", "SOURCE", "TOOLS", "PACKAGES", "HELD", "CREATED", "BY"],
  rows: (found) =>
    found.map((one) => [
      ...[one.number, one.step === null ? one.state : `${one.state} (${one.step})`, sourceOf(one)],
      ...[one.contact?.tools, one.packages, one.held ? "yes" : "no", tellTime(one.created_at), one.created_by],
    ]),
});

function sourceOf({ source: { kind, package: name, version, url }, source_digest: digest }: ServerVersionInfo): string {
  return url ?? (name === null ? `archive ${digest.slice(0, 12)}` : `${kind}:${name}@${version ?? "newest"}`);
}

const number = (text: string) => parseNumber(text, "VERSION");

const diff = tableVerb({
  summary: "list the differences between two versions of a hosted server",
  usage: "SERVER VERSION VERSION",
  call: ({ caisson }, server = "", from = "", to = "") => caisson.servers.diff(server, number(from), number(to)),
  headings: ["FIELD", "FROM", "TO"],
  rows: (found) => found.map(({ field, from, to }) => [field, from, to]),
});

const rollback = lineVerb({
  summary: "return a hosted server to an older version; settings and secrets stay as they are",
  usage: "SERVER VERSION",
  options: { data: { type: "boolean", help: "restore /data to its state when that version was replaced" } },
  call: ({ caisson, options }, server = "", version = "") =>
    caisson.servers.rollback(server, number(version), { data: options.flag("data") }),
  line: (version) => `version ${version.number}: ${version.state}`,
});

const confirm = lineVerb({
  summary: "let a held version of a hosted server read its secrets (operators only)",
  usage: "SERVER VERSION",
  call: ({ caisson }, server = "", version = "") => caisson.servers.confirm(server, number(version)),
  line: (version) => `version ${version.number}: confirmed`,
});

export const serverVerbs: Record<string, Verb> = {
  "servers ls": list,
  "servers show": show,
  "servers connect": connectVerb,
  "servers set": set,
  "servers logs": logs,
  "servers tools": tools,
  "servers call": call,
  "servers restart": restart,
  "servers stop": stop,
  "servers versions": versions,
  "servers diff": diff,
  "servers rollback": rollback,
  "servers confirm": confirm,
  "servers rm": remove,
};
