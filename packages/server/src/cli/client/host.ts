import { AppError } from "../../core/errors.ts";
import { hostLimits } from "../../host-access/limits.ts";
import { defined } from "../../lib/defined.ts";
import { exitCodes } from "../exit-codes.ts";
import { writeOut } from "../write-out.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";
import { lineVerb, tableVerb } from "./verb-kinds.ts";

interface Ran {
  exit_code: number | null;
  stdout: string;
  stderr: string;
  timed_out: boolean;
}

const exec: Verb = {
  summary: "run a command on the daemon's machine, if the operator allows it",
  usage: "COMMAND [ARGS…]",
  about:
    "One word is split at spaces, outside quotes; several words are a program and its arguments. No shell is involved.\n" +
    "Options go before COMMAND.",
  words: [1, hostLimits.words],
  options: {
    timeout: { type: "string", short: "t", value: "SECONDS", help: "kill the command after this time (default: 60)" },
  },
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
  summary: "print a file on the daemon's machine, if the operator allows it",
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
  summary: "write TEXT to a file on the daemon's machine, if the operator allows it",
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

const list = tableVerb({
  summary: "list a folder on the daemon's machine, if the operator allows it",
  usage: "PATH",
  call: async ({ caisson }, path) => (await caisson.tools.call<Listing>("host_file_list", { path })).result,
  headings: ["TYPE", "BYTES", "MODIFIED", "NAME"],
  rows: ({ entries }) => entries.map((one) => [one.type, one.size_bytes, tellTime(one.modified_at), one.name]),
});

const copy = lineVerb({
  summary: "copy a file on the daemon's machine into a workspace, if the operator allows it",
  usage: "SOURCE [DESTINATION]",
  options: { session: { type: "string", short: "s", value: "ID", help: "sandbox id or session key" } },
  call: async ({ caisson, options, words: [source, destination] }) => {
    const input = { source, ...defined({ destination, session_id: options.text("session") }) };
    return (await caisson.tools.call<{ path: string; sandbox_id: string }>("host_file_copy", input)).result;
  },
  line: ({ sandbox_id, path }) => `${sandbox_id}:${path}`,
});

const access: Verb = {
  summary: "list the access that agents have to the daemon's machine, or request more",
  usage: "list | request PATTERN",
  words: [1, 2],
  options: { reason: { type: "string", value: "TEXT", help: "reason, shown to the approver" } },
  run: (call) => {
    const [what, pattern] = call.words;
    if (what === "list" && pattern === undefined) return listAccess(call);
    if (what === "request" && pattern !== undefined) return requestAccess(call, pattern);
    throw new AppError("invalid", `unexpected arguments '${call.words.join(" ")}'`, {
      hint: "caisson host access list, or caisson host access request PATTERN",
    });
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
