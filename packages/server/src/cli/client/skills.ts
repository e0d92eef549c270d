import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { Caisson, SkillInfo } from "@caisson/sdk";
import { AppError, errnoOf } from "../../core/errors.ts";
import { skillLimits } from "../../sandboxes/snapshot-limits.ts";
import { sendFolder } from "./folder-archive.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { lineVerb, quietVerb } from "./verb-kinds.ts";
import { webStream } from "./web-stream.ts";

const about = "SKILL is an id, a name (its newest version) or name@version.";

async function store(caisson: Caisson, path: string): Promise<SkillInfo> {
  const info = await stat(path).catch((error: unknown) => {
    throw new AppError("not_found", `cannot read '${path}' (${errnoOf(error)})`, { cause: error });
  });
  const add = (archive: ReadableStream<Uint8Array>) => caisson.skills.add(archive);
  if (info.isDirectory()) return sendFolder(path, add);
  return add(webStream(createReadStream(path)));
}

const add = lineVerb({
  summary: "store a skill (a folder with SKILL.md, or a tar archive of one) and print its id",
  usage: "FOLDER|ARCHIVE",
  call: ({ caisson }, path) => store(caisson, path),
  line: ({ id }) => id,
});

const list: Verb = {
  summary: "list stored skills, newest first, or the skills installed in a sandbox",
  usage: "[SANDBOX]",
  words: [0, 1],
  run: async (call) => {
    const { caisson, words, io, json } = call;
    if (words.length > 0) {
      const there = await (await namedSandbox(call)).installedSkills();
      if (json) return tellJson(io, there);
      const rows = there.map((one) => [one.name, one.version, one.path, one.description]);
      return tellTable(io, ["NAME", "VERSION", "PATH", "DESCRIPTION"], rows);
    }
    const found = await caisson.skills.list();
    if (json) return tellJson(io, found);
    const rows = found.map((one) => [
      one.id,
      one.name,
      one.version,
      one.file_count,
      tellTime(one.created_at),
      one.description,
    ]);
    return tellTable(io, ["ID", "NAME", "VERSION", "FILES", "STORED", "DESCRIPTION"], rows);
  },
};

const show: Verb = {
  summary: "show a skill and its files",
  usage: "SKILL",
  words: [1, 1],
  about,
  run: async ({ caisson, words: [skill = ""], io, json }) => {
    const info = await caisson.skills.get(skill);
    const files = await caisson.skills.files(info.id);
    if (json) return tellJson(io, { ...info, files });
    tellLine(io, `${info.name}@${info.version} ${info.digest}`);
    tellLine(io, info.description);
    return tellTable(
      io,
      ["PATH", "TYPE", "SIZE"],
      files.map((one) => [one.path, one.type, one.size]),
    );
  },
};

const read: Verb = {
  summary: "print a skill's SKILL.md, or another of its files",
  usage: "SKILL [PATH]",
  words: [1, 2],
  about,
  run: async ({ caisson, words: [skill = "", path], io }) => {
    await pipeline(await caisson.skills.read(skill, path), io.stdout, { end: false });
    return 0;
  },
};

const install: Verb = {
  summary: "install skills into a sandbox's workspace",
  usage: "SANDBOX SKILL|PATH…",
  words: [2, 1 + skillLimits.installed],
  about: `${about}\nPATH is a local skill: it contains a slash or starts with a dot, such as ./analyzer. It is stored first, as by skill add.`,
  run: async (call) => {
    const sandbox = await namedSandbox(call);
    const skills: string[] = [];
    for (const word of call.words.slice(1)) skills.push(isPath(word) ? (await store(call.caisson, word)).id : word);
    const done = await sandbox.installSkills(skills);
    if (call.json) return tellJson(call.io, done);
    for (const name of done.installed) tellLine(call.io, `${name}: installed`);
    for (const name of done.already_installed) tellLine(call.io, `${name}: already installed`);
    return 0;
  },
};

/** Skill names contain no slash and do not start with a dot. */
function isPath(word: string): boolean {
  return word.includes("/") || word.startsWith(".");
}

const remove = quietVerb("delete a skill; sandboxes keep installed copies", "SKILL", ({ caisson }, skill) =>
  caisson.skills.delete(skill),
);

export const skillVerbs: Record<string, Verb> = {
  "skill add": add,
  "skill list": list,
  "skill show": show,
  "skill read": read,
  "skill install": install,
  "skill rm": remove,
};
