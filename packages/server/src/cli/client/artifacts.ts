import { pipeline } from "node:stream/promises";
import type { Artifact, RunArtifact, RunReport } from "@caisson/sdk";
import { defined } from "../../lib/defined.ts";
import type { RunIo } from "../run.ts";
import { tellJson, tellTable, tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { quietVerb, tableVerb } from "./verb-kinds.ts";

const fileHeadings = ["PATH", "BYTES", "SHA256"];
const fileRows = (files: readonly RunArtifact[]) => files.map((one) => [one.path, one.size_bytes, one.sha256]);

const list = tableVerb({
  summary: "list destroyed sandboxes whose artifacts are kept, newest first",
  call: ({ caisson }) => caisson.artifacts.list(),
  headings: ["SANDBOX", "FILES", "BYTES", "EXPIRES"],
  rows: (found) => found.map((one) => [one.sandbox_id, one.file_count, one.total_size, tellTime(one.expires_at)]),
});

const files = tableVerb({
  summary: "list the kept artifacts of a destroyed sandbox",
  usage: "SANDBOX",
  call: ({ caisson }, id) => caisson.artifacts.files(id),
  headings: fileHeadings,
  rows: fileRows,
});

const get: Verb = {
  summary: "print a kept artifact of a destroyed sandbox",
  usage: "SANDBOX PATH",
  words: [2, 2],
  run: async ({ caisson, words, io }) => {
    const bytes = await caisson.artifacts.read(words[0] ?? "", words[1] ?? "");
    await pipeline(bytes, io.stdout, { end: false });
    return 0;
  },
};

const remove = quietVerb("delete the kept artifacts of a sandbox before they expire", "SANDBOX", ({ caisson }, id) =>
  caisson.artifacts.delete(id),
);

/** Ids of runs begin like this (core/run-id.ts). */
const isRun = (word: string) => /^run_[0-9a-f]{16}$/.test(word);

const own: Verb = {
  summary: "list the files of a session or run in ./output with their hashes; --json adds a signed manifest",
  usage: "SESSION|RUN",
  about:
    "SESSION lists the files that are there now. RUN (a run_id) lists the files that this run created or modified, from\n" +
    "its record, without a manifest.",
  words: [1, 1],
  options: {
    path: { type: "string", value: "PATH", help: "with --json: include the content of this file of the session" },
  },
  run: async ({ caisson, words: [session_id = ""], options, io, json }) => {
    if (isRun(session_id)) return ofRun(await caisson.runs.get(session_id), io, json);
    const input = { session_id, ...defined({ path: options.text("path") }) };
    const { result } = await caisson.tools.call<{ files: Artifact[] }>("get_artifacts", input);
    if (json) return tellJson(io, result);
    return tellTable(io, fileHeadings, fileRows(result.files));
  },
};

function ofRun({ run_id, sandbox_id, record, artifacts: files, truncated }: RunReport, io: RunIo, json: boolean) {
  if (json) return tellJson(io, { run_id, sandbox_id, files, truncated: truncated.includes("artifacts") });
  if (record === null) io.stderr.write("caisson: the run has not ended, or its record is not kept\n");
  if (truncated.includes("artifacts")) io.stderr.write("caisson: its record was cut: there may be more files\n");
  return tellTable(io, fileHeadings, fileRows(files));
}

export const artifactVerbs: Record<string, Verb> = {
  artifacts: own,
  "artifacts list": list,
  "artifacts files": files,
  "artifacts get": get,
  "artifacts rm": remove,
};
