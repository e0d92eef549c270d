import { pipeline } from "node:stream/promises";
import type { Artifact } from "@caisson/sdk";
import { defined } from "../../core/defined.ts";
import { tellJson, tellTable, tellTime } from "./tell.ts";
import { quiet, type Verb } from "./verb.ts";

const list: Verb = {
  summary: "list destroyed sandboxes whose artifacts are kept, newest first",
  usage: "",
  words: [0, 0],
  run: async ({ caisson, io, json }) => {
    const found = await caisson.artifacts.list();
    if (json) return tellJson(io, found);
    const rows = found.map((one) => [one.sandbox_id, one.file_count, one.total_size, tellTime(one.expires_at)]);
    return tellTable(io, ["SANDBOX", "FILES", "BYTES", "EXPIRES"], rows);
  },
};

const files: Verb = {
  summary: "list what a destroyed sandbox left in ./output",
  usage: "SANDBOX",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const found = await caisson.artifacts.files(words[0] ?? "");
    if (json) return tellJson(io, found);
    const rows = found.map((one) => [one.path, one.size_bytes, one.sha256]);
    return tellTable(io, ["PATH", "BYTES", "SHA256"], rows);
  },
};

const get: Verb = {
  summary: "write one of them to standard output",
  usage: "SANDBOX PATH",
  words: [2, 2],
  run: async ({ caisson, words, io }) => {
    const bytes = await caisson.artifacts.read(words[0] ?? "", words[1] ?? "");
    await pipeline(bytes, io.stdout, { end: false });
    return 0;
  },
};

const remove = quiet("delete what is kept of a sandbox before its time", ["SANDBOX"], ({ caisson }, id) =>
  caisson.artifacts.delete(id),
);

const own: Verb = {
  summary: "list what a session left in ./output, with hashes; with --json also a signed manifest",
  usage: "SESSION",
  words: [1, 1],
  options: { path: { type: "string", value: "PATH", help: "with --json, the content of this file too" } },
  run: async ({ caisson, words: [session_id], options, io, json }) => {
    const input = { session_id, ...defined({ path: options.text("path") }) };
    const { result } = await caisson.tools.call<{ files: Artifact[] }>("get_artifacts", input);
    if (json) return tellJson(io, result);
    const rows = result.files.map((one) => [one.path, one.size_bytes, one.sha256]);
    return tellTable(io, ["PATH", "BYTES", "SHA256"], rows);
  },
};

export const artifactVerbs: Record<string, Verb> = {
  artifacts: own,
  "artifacts list": list,
  "artifacts files": files,
  "artifacts get": get,
  "artifacts rm": remove,
};
