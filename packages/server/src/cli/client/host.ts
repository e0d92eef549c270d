import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/errors.ts";
import { hostLimits } from "../../core/host-limits.ts";
import { exitCodes } from "../exit-codes.ts";
import { writeOut } from "../write-out.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";

interface Ran {
  exit_code: number | null;
  stdout: string;
  stderr: string;
  timed_out: boolean;
}

const exec: Verb = {
  summary: "run a command on the daemon's machine, where its operator allows that",
  usage: "COMMAND [ARGS…]",
  about:
    "One word is a command with quotes, split without a shell; more are a program and its arguments. Our options stand before COMMAND.",
  words: [1, hostLimits.words],
  options: { timeout: { type: "string", short: "t", value: "SECONDS", help: "then it is killed; 60 unless given" } },
  run: async ({ caisson, options, words, io, json }) => {
    const input = {
      command: words.length === 1 ? words[0] : words,
      ...defined({ timeout_seconds: options.number("timeout") }),
    };
    const { result } = await caisson.tools.call<Ran>("host_exec", input);
    if (json) return tellJson(io, result);
    await writeOut(io.stdout, result.stdout);
    await writeOut(io.stderr, result.stderr);
    return result.timed_out ? exitCodes.timeout : (result.exit_code ?? exitCodes.killed);
  },
};

const read: Verb = {
  summary: "print a file of the daemon's machine, where its operator allows that",
  usage: "PATH",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const { result } = await caisson.tools.call<{ content: string; encoding: "utf-8" | "base64" }>("host_file_read", {
      path: words[0],
    });
    if (json) return tellJson(io, result);
    await writeOut(io.stdout, Buffer.from(result.content, result.encoding));
    return 0;
  },
};

const write: Verb = {
  summary: "write a file of the daemon's machine, where its operator allows that",
  usage: "PATH TEXT",
  words: [2, 2],
  run: async ({ caisson, words: [path, content], io, json }) => {
    const { result } = await caisson.tools.call("host_file_write", { path, content });
    return json ? tellJson(io, result) : 0;
  },
};

interface Listing {
  entries: { name: string; type: string; size_bytes: number; modified_at: string }[];
}

const list: Verb = {
  summary: "list a folder of the daemon's machine, where its operator allows that",
  usage: "PATH",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const { result } = await caisson.tools.call<Listing>("host_file_list", { path: words[0] });
    if (json) return tellJson(io, result);
    const rows = result.entries.map((one) => [one.type, one.size_bytes, tellTime(one.modified_at), one.name]);
    return tellTable(io, ["TYPE", "BYTES", "CHANGED", "NAME"], rows);
  },
};

const copy: Verb = {
  summary: "copy a file of the daemon's machine into a workspace, where its operator allows that",
  usage: "SOURCE [DESTINATION]",
  words: [1, 2],
  options: { session: { type: "string", short: "s", value: "ID", help: "the sandbox, or the key of its session" } },
  run: async ({ caisson, options, words: [source, destination], io, json }) => {
    const input = { source, ...defined({ destination, session_id: options.text("session") }) };
    const { result } = await caisson.tools.call<{ path: string; sandbox_id: string }>("host_file_copy", input);
    return json ? tellJson(io, result) : tellLine(io, `${result.sandbox_id}:${result.path}`);
  },
};

const access: Verb = {
  summary: "show what of the daemon's machine is open, or ask for more",
  usage: "list | request PATTERN",
  words: [1, 2],
  options: { reason: { type: "string", value: "TEXT", help: "why, for whoever decides" } },
  run: (call) => {
    const [what, pattern] = call.words;
    if (what === "list" && pattern === undefined) return listAccess(call);
    if (what === "request" && pattern !== undefined) return requestAccess(call, pattern);
    throw new AppError("invalid", "this is neither list nor request PATTERN");
  },
};

interface Access {
  allowed: string[];
  asked: string[];
  blocked: string[];
  unknown: string;
  approved: { pattern: string; approval_id: string }[];
  denied: { pattern: string; approval_id: string }[];
  folders: { path: string; access: string }[];
}

async function listAccess({ caisson, io, json }: VerbCall): Promise<number> {
  const { result } = await caisson.tools.call<Access>("list_host_access");
  if (json) return tellJson(io, result);
  const { allowed, asked, blocked, approved, denied, folders, unknown } = result;
  const plain = (what: string, patterns: readonly string[]) => patterns.map((pattern) => [what, pattern, null]);
  const answered = (what: string, rows: Access["approved"]) => rows.map((row) => [what, row.pattern, row.approval_id]);
  const rows = [
    ...[...plain("allowed", allowed), ...plain("asked", asked), ...plain("blocked", blocked)],
    ...[...answered("approved", approved), ...answered("denied", denied)],
    [unknown === "ask" ? "asked" : "refused", "(all other commands)", null],
    ...folders.map((folder) => [folder.access, folder.path, null]),
  ];
  return tellTable(io, ["ACCESS", "WHAT", "APPROVAL"], rows);
}

async function requestAccess({ caisson, options, io, json }: VerbCall, pattern: string): Promise<number> {
  const input = { pattern, ...defined({ reason: options.text("reason") }) };
  const { result } = await caisson.tools.call<{ approval_id: string; state: string }>("request_host_access", input);
  return json ? tellJson(io, result) : tellLine(io, `${result.approval_id} ${result.state}`);
}

export const hostVerbs: Record<string, Verb> = {
  "host exec": exec,
  "host read": read,
  "host write": write,
  "host list": list,
  "host copy": copy,
  "host access": access,
};
