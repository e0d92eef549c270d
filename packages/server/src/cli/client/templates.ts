import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { CreateTemplate, TemplateInfo, WarmUp } from "@caisson/sdk";
import { defined } from "../../core/defined.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { engineChoices } from "../../core/request.ts";
import { visible } from "../terminal.ts";
import { engineOf } from "./engine-option.ts";
import { limitOptions, megabytes } from "./limit-options.ts";
import { networkOf, networkOptions, pairs } from "./sandboxes.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import { quiet, type Verb } from "./verb.ts";

const languages: Readonly<Record<string, WarmUp["language"]>> = {
  ".py": "python",
  ".js": "node",
  ".mjs": "node",
  ".cjs": "node",
  ".sh": "shell",
};

async function readBytes(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new AppError("not_found", `'${path}' cannot be read (${errnoOf(error)})`, { cause: error });
  }
}

async function warmUpOf(path: string | undefined): Promise<WarmUp | undefined> {
  if (path === undefined) return undefined;
  const language = languages[extname(path)];
  if (language === undefined)
    throw new AppError("invalid", `'${path}' does not say its language`, { hint: Object.keys(languages).join(", ") });
  return { language, code: (await readBytes(path)).toString() };
}

async function filesOf(rows: Readonly<Record<string, string>>): Promise<NonNullable<CreateTemplate["files"]>> {
  const read = async ([path, from]: [string, string]) => ({ path, base64: (await readBytes(from)).toString("base64") });
  return Promise.all(Object.entries(rows).map(read));
}

const create: Verb = {
  summary: "make a template: an image with files, packages and a warm-up; prints its id",
  usage: "NAME",
  words: [1, 1],
  about:
    "Its sandboxes (create --template NAME) begin after the warm-up: on gvisor with its memory, elsewhere it runs at each start.",
  options: {
    description: { type: "string", value: "TEXT", help: "what it is for" },
    engine: { type: "string", short: "e", alias: "backend", value: "NAME", help: engineChoices.join(", ") },
    image: { type: "string", value: "NAME", help: "what it starts from" },
    ...limitOptions,
    storage: { type: "string", value: "SIZE", help: "workspace size" },
    env: { type: "string", multiple: true, value: "NAME=VALUE", help: "a variable of every run in its sandboxes" },
    snapshot: { type: "string", value: "ID", help: "its files are the workspace" },
    file: { type: "string", multiple: true, value: "PATH=FILE", help: "a file of yours, and where it goes" },
    pip: { type: "string", multiple: true, value: "PACKAGE", help: "a package of Python's" },
    npm: { type: "string", multiple: true, value: "PACKAGE", help: "a package of Node's" },
    "warm-up": { type: "string", value: "FILE", help: "what is run at its end: .py, .js or .sh" },
    ...networkOptions,
    detach: { type: "boolean", short: "d", help: "do not wait until it is made" },
  },
  run: async ({ caisson, words: [name = ""], options, io, json }) => {
    const made = await caisson.templates.create({
      name,
      ...defined({
        description: options.text("description"),
        engine: engineOf(options),
        image: options.text("image"),
        memory_mb: megabytes(options, "memory"),
        cpus: options.number("cpus"),
        max_processes: options.number("processes"),
        storage_mb: megabytes(options, "storage"),
        env: pairs(options, "env"),
        snapshot_id: options.text("snapshot"),
        network: networkOf(options),
        warm_up: await warmUpOf(options.text("warm-up")),
      }),
      files: await filesOf(pairs(options, "file") ?? {}),
      pip: [...options.texts("pip")],
      npm: [...options.texts("npm")],
    });
    const info = options.flag("detach") ? made : await caisson.templates.settled(made.id);
    if (json) tellJson(io, info);
    else if (info.state !== "failed") tellLine(io, info.id);
    if (info.why !== null) io.stderr.write(`caisson: no memory is kept: ${visible(info.why)}\n`);
    if (info.state !== "failed") return 0;
    io.stderr.write(`caisson: ${name} could not be made: ${info.step}: ${visible(info.error ?? "")}\n`);
    return 1;
  },
};

const list: Verb = {
  summary: "list templates, newest first",
  usage: "",
  words: [0, 0],
  run: async ({ caisson, io, json }) => {
    const found = await caisson.templates.list();
    if (json) return tellJson(io, found);
    const row = (one: TemplateInfo) => [
      ...[one.name, one.id, one.state, one.image, one.engine],
      ...[one.memory ? "memory" : "files", tellTime(one.created_at), one.description],
    ];
    const headings = ["NAME", "ID", "STATE", "IMAGE", "ENGINE", "STARTS WITH", "CREATED", "DESCRIPTION"];
    return tellTable(io, headings, found.map(row));
  },
};

const show: Verb = {
  summary: "show a template, by its id or name",
  usage: "TEMPLATE",
  words: [1, 1],
  run: async ({ caisson, words, io }) => tellJson(io, await caisson.templates.get(words[0] ?? "")),
};

const remove = quiet("delete a template, or end its making", ["TEMPLATE"], ({ caisson }, template) =>
  caisson.templates.delete(template),
);

export const templateVerbs: Record<string, Verb> = {
  "template create": create,
  "template ls": list,
  "template show": show,
  "template rm": remove,
};
