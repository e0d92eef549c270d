import { pipeline } from "node:stream/promises";
import type { SnapshotDiff } from "@caisson/sdk";
import { httpLimits } from "../../http/limits.ts";
import { defined } from "../../lib/defined.ts";
import type { RunIo } from "../run.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson, tellTable, tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { lineVerb, quietVerb, tableVerb } from "./verb-kinds.ts";

function tellDiff(io: RunIo, diff: SnapshotDiff): number {
  const rows = (["created", "modified", "deleted"] as const).flatMap((action) =>
    diff[action].map(({ type, size, path }) => [action, type, size, path]),
  );
  tellTable(io, ["ACTION", "TYPE", "SIZE", "PATH"], rows);
  if (diff.truncated) io.stderr.write("caisson: output truncated: the daemon lists only the first changes\n");
  return 0;
}

const create = lineVerb({
  summary: "take a snapshot of a sandbox's workspace and print its id",
  usage: "SANDBOX [DESCRIPTION]",
  call: async (call) => (await namedSandbox(call)).snapshots.create(call.words[1]),
  line: ({ id }) => id,
});

const list = tableVerb({
  summary: "list snapshots of all sandboxes or of one, newest first",
  usage: "[SANDBOX]",
  call: ({ caisson, words: [sandbox_id] }) => caisson.snapshots.list(defined({ sandbox_id })),
  headings: ["ID", "SANDBOX", "TAKEN", "FILES", "BYTES", "ADDED", "DESCRIPTION"],
  rows: (found) =>
    found.map((one) => [
      ...[one.id, one.sandbox_id, tellTime(one.timestamp)],
      ...[one.file_count, one.total_size, one.added_size, one.description],
    ]),
});

const restore = lineVerb({
  summary: "restore a workspace to a snapshot",
  usage: "SANDBOX SNAPSHOT",
  call: async (call, _, snapshot) => (await namedSandbox(call)).snapshots.restore(snapshot),
  line: ({ written, changed, deleted }) => `${written} written, ${changed} changed, ${deleted} deleted`,
});

const diff: Verb = {
  summary: "show what changed in a workspace since a snapshot",
  usage: "SANDBOX SNAPSHOT",
  words: [2, 2],
  run: async (call) => {
    const found = await (await namedSandbox(call)).snapshots.diff(call.words[1] ?? "");
    return call.json ? tellJson(call.io, found) : tellDiff(call.io, found);
  },
};

const files: Verb = {
  summary: "list the files in a snapshot",
  usage: "SNAPSHOT",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const found = await caisson.snapshots.files(words[0] ?? "", { limit: httpLimits.page.max });
    if (found.length === httpLimits.page.max)
      io.stderr.write(`caisson: output truncated: only the first ${found.length} names are listed\n`);
    if (json) return tellJson(io, found);
    const rows = found.map(({ type, mode, size, mtime, path }) => [type, mode, size, mtime && tellTime(mtime), path]);
    return tellTable(io, ["TYPE", "MODE", "SIZE", "MODIFIED", "PATH"], rows);
  },
};

const read: Verb = {
  summary: "print a file from a snapshot",
  usage: "SNAPSHOT PATH",
  words: [2, 2],
  run: async ({ caisson, words: [snapshot = "", path = ""], io }) => {
    await pipeline(await caisson.snapshots.read(snapshot, path), io.stdout, { end: false });
    return 0;
  },
};

const remove = quietVerb("delete a snapshot permanently", "SNAPSHOT", ({ caisson }, snapshot) =>
  caisson.snapshots.delete(snapshot),
);

export const snapshotVerbs: Record<string, Verb> = {
  "snapshot create": create,
  "snapshot list": list,
  "snapshot files": files,
  "snapshot read": read,
  "snapshot restore": restore,
  "snapshot diff": diff,
  "snapshot rm": remove,
};
