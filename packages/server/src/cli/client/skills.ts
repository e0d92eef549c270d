import { createReadStream } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { AppError, errnoOf } from "../../core/errors.ts";
import { skillLimits } from "../../core/snapshot-limits.ts";
import { tarEnd, tarHeader, tarPadding } from "../../tar/tar-writer.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import { quiet, type Verb } from "./verb.ts";

/** A folder's files as a tar archive; what is no file or folder is refused, since it would be missing without a word. */
async function* archive(folder: string, below = ""): AsyncGenerator<Uint8Array> {
  for (const name of (await readdir(join(folder, below))).sort()) {
    const path = below === "" ? name : `${below}/${name}`;
    const info = await lstat(join(folder, path));
    const bytes = Buffer.from(path).toString("latin1");
    if (info.isDirectory()) {
      yield tarHeader({ type: "directory", path: bytes, mode: 0o755 });
      yield* archive(folder, path);
    } else if (info.isFile()) {
      yield tarHeader({ type: "file", path: bytes, mode: info.mode & 0o111 ? 0o755 : 0o644, size: info.size });
      let sent = 0;
      for await (const piece of createReadStream(join(folder, path), { end: Math.max(0, info.size - 1) })) {
        sent += piece.length;
        yield piece;
      }
      if (sent !== info.size) throw new AppError("conflict", `'${path}' changed while it was read`);
      yield tarPadding(info.size);
    } else throw new AppError("invalid", `'${path}' is neither a file nor a folder`);
  }
  if (below === "") yield tarEnd;
}

const add: Verb = {
  summary: "store a skill: a folder with SKILL.md, or a tar archive of one; prints its id",
  usage: "FOLDER|ARCHIVE",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const [path = ""] = words;
    const info = await stat(path).catch((error: unknown) => {
      throw new AppError("not_found", `'${path}' cannot be read (${errnoOf(error)})`, { cause: error });
    });
    const source = info.isDirectory() ? Readable.from(archive(path)) : createReadStream(path);
    const made = await caisson.skills.add(Readable.toWeb(source) as ReadableStream<Uint8Array>);
    return json ? tellJson(io, made) : tellLine(io, made.id);
  },
};

const list: Verb = {
  summary: "list skills, newest first",
  usage: "",
  words: [0, 0],
  run: async ({ caisson, io, json }) => {
    const found = await caisson.skills.list();
    if (json) return tellJson(io, found);
    const rows = found.map((one) => [one.id, one.name, one.file_count, tellTime(one.created_at), one.description]);
    return tellTable(io, ["ID", "NAME", "FILES", "STORED", "DESCRIPTION"], rows);
  },
};

const install: Verb = {
  summary: "install skills into a sandbox's workspace",
  usage: "SANDBOX SKILL…",
  words: [2, 1 + skillLimits.installed],
  run: async (call) => {
    const done = await (await namedSandbox(call)).installSkills(call.words.slice(1));
    if (call.json) return tellJson(call.io, done);
    for (const name of done.installed) tellLine(call.io, `${name}: installed`);
    for (const name of done.already_installed) tellLine(call.io, `${name}: already installed`);
    return 0;
  },
};

const remove = quiet("delete a skill; where it is installed it stays", ["SKILL"], ({ caisson }, skill) =>
  caisson.skills.delete(skill),
);

export const skillVerbs: Record<string, Verb> = {
  "skill add": add,
  "skill list": list,
  "skill install": install,
  "skill rm": remove,
};
