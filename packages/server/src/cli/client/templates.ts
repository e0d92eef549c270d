import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { CreateTemplate, WarmUp } from "@caisson/sdk";
import { AppError, errnoOf } from "../../core/errors.ts";
import { engineChoices } from "../../core/request.ts";
import { defined } from "../../lib/defined.ts";
import { visible } from "../terminal.ts";
import { engineOf } from "./engine-option.ts";
import { limitOptions, megabytes } from "./limit-options.ts";
import { networkOf, networkOptions, pairs } from "./sandboxes.ts";
import { tellJson, tellLine, tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { quietVerb, tableVerb } from "./verb-kinds.ts";

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
    throw new AppError("not_found", `cannot read '${path}' (${errnoOf(error)})`, { cause: error });
  }
}

async function warmUpOf(path: string | undefined): Promise<WarmUp | undefined> {
  if (path === undefined) return undefined;
  const language = languages[extname(path)];
  if (language === undefined)
    throw new AppError("invalid", `unknown language of '${path}'`, {
      hint: `the name must end in ${Object.keys(languages).join(", ")}`,
    });
  return { language, code: (await readBytes(path)).toString() };
}

async function filesOf(rows: Readonly<Record<string, string>>): Promise<NonNullable<CreateTemplate["files"]>> {
  const read = async ([path, from]: [string, string]) => ({ path, base64: (await readBytes(from)).toString("base64") });
  return Promise.all(Object.entries(rows).map(read));
}

const create: Verb = {
  summary: "create a template (image, files, packages, warm-up) and print its id",
  usage: "NAME",
  words: [1, 1],
  about:
    "Sandboxes of the template (caisson create --template NAME) start after the warm-up. On the engine gvisor they start with its\n" +
    "memory; on other engines the warm-up runs at each start.",
  options: {
    description: { type: "string", value: "TEXT", help: "description of the template" },
    engine: {
      type: "string",
      short: "e",
      alias: "backend",
      value: "NAME",
      help: `engine: ${engineChoices.join(", ")}`,
    },
    image: { type: "string", value: "NAME", help: "image to start from (default: host)" },
    ...limitOptions,
    storage: { type: "string", value: "SIZE", help: "workspace size limit" },
    env: {
      type: "string",
      multiple: true,
      value: "NAME=VALUE",
      help: "environment variable of every run in its sandboxes",
    },
    snapshot: { type: "string", value: "ID", help: "snapshot that fills the workspace" },
    file: { type: "string", multiple: true, value: "PATH=FILE", help: "copy the local FILE to PATH in the workspace" },
    pip: { type: "string", multiple: true, value: "PACKAGE", help: "Python package to install" },
    npm: { type: "string", multiple: true, value: "PACKAGE", help: "Node package to install" },
    "warm-up": { type: "string", value: "FILE", help: "script to run at the end of the build: .py, .js or .sh" },
    ...networkOptions,
    detach: { type: "boolean", short: "d", help: "print the id and do not wait for the build" },
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
    if (info.why !== null) io.stderr.write(`caisson: the template has no memory: ${visible(info.why)}\n`);
    if (info.state !== "failed") return 0;
    io.stderr.write(`caisson: cannot build template ${name}: ${info.step}: ${visible(info.error ?? "")}\n`);
    return 1;
  },
};

const list = tableVerb({
  summary: "list templates, newest first",
  call: ({ caisson }) => caisson.templates.list(),
  headings: ["NAME", "ID", "STATE", "IMAGE", "ENGINE", "STARTS WITH", "CREATED", "DESCRIPTION"],
  rows: (found) =>
    found.map((one) => [
      ...[one.name, one.id, one.state, one.image, one.engine],
      ...[one.memory ? "memory" : "files", tellTime(one.created_at), one.description],
    ]),
});

const show: Verb = {
  summary: "show a template by id or name",
  usage: "TEMPLATE",
  words: [1, 1],
  run: async ({ caisson, words, io }) => tellJson(io, await caisson.templates.get(words[0] ?? "")),
};

const remove = quietVerb("delete a template, or cancel its build", "TEMPLATE", ({ caisson }, template) =>
  caisson.templates.delete(template),
);

export const templateVerbs: Record<string, Verb> = {
  "template create": create,
  "template ls": list,
  "template show": show,
  "template rm": remove,
};
