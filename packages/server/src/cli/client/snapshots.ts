import { pipeline } from "node:stream/promises";
import type { SnapshotDiff, SnapshotInfo } from "@caisson/sdk";
import { httpLimits } from "../../http/limits.ts";
import type { RunIo } from "../run.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import { quiet, type Verb } from "./verb.ts";

function tellDiff(io: RunIo, diff: SnapshotDiff): number {
  const rows = (["created", "modified", "deleted"] as const).flatMap((action) =>
    diff[action].map(({ type, size, path }) => [action, type, size, path]),
  );
  tellTable(io, ["ACTION", "TYPE", "SIZE", "PATH"], rows);
  if (diff.truncated) io.stderr.write("caisson: output truncated: the daemon lists only the first changes\n");
  return 0;
}

function tellSnapshots(io: RunIo, found: readonly SnapshotInfo[]): number {
  const rows = found.map((one) => [
    one.id,
    one.sandbox_id,
    tellTime(one.timestamp),
    one.file_count,
    one.total_size,
    one.added_size,
    one.description,
  ]);
  return tellTable(io, ["ID", "SANDBOX", "TAKEN", "FILES", "BYTES", "ADDED", "DESCRIPTION"], rows);
}

const create: Verb = {
  summary: "take a snapshot of a sandbox's workspace and print its id",
  usage: "SANDBOX [DESCRIPTION]",
  words: [1, 2],
  run: async (call) => {
    const made = await (await namedSandbox(call)).snapshots.create(call.words[1]);
    return call.json ? tellJson(call.io, made) : tellLine(call.io, made.id);
  },
};

const list: Verb = {
  summary: "list snapshots of all sandboxes or of one, newest first",
  usage: "[SANDBOX]",
  words: [0, 1],
  run: async ({ caisson, words, io, json }) => {
    const [sandbox_id] = words;
    const found = await caisson.snapshots.list(sandbox_id === undefined ? {} : { sandbox_id });
    return json ? tellJson(io, found) : tellSnapshots(io, found);
  },
};

const restore: Verb = {
  summary: "restore a workspace to a snapshot",
  usage: "SANDBOX SNAPSHOT",
  words: [2, 2],
  run: async (call) => {
    const done = await (await namedSandbox(call)).snapshots.restore(call.words[1] ?? "");
    if (call.json) return tellJson(call.io, done);
    return tellLine(call.io, `${done.written} written, ${done.changed} changed, ${done.deleted} deleted`);
  },
};

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

const remove = quiet("delete a snapshot permanently", ["SNAPSHOT"], ({ caisson }, snapshot) =>
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
