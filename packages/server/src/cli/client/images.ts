import { readFile, stat } from "node:fs/promises";
import type { ImageInfo, ImportImage } from "@caisson/sdk";
import { AppError, errnoOf } from "../../core/errors.ts";
import { showBytes } from "../../core/size.ts";
import { buildLimits } from "../../images/limits.ts";
import { followImage } from "./follow-image.ts";
import { tellJson, tellLine, tellTime } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";
import { quietVerb, tableVerb } from "./verb-kinds.ts";

const list = tableVerb({
  summary: "list images, newest first",
  call: ({ caisson }) => caisson.images.list(),
  headings: ["ID", "NAME", "STATE", "SIZE", "CREATED"],
  rows: (found) => found.map((one) => [one.id, one.name, stateOf(one), showBytes(one.bytes), tellTime(one.created_at)]),
});

function stateOf({ state, step }: ImageInfo): string {
  return step === null ? state : `${state} (${step})`;
}

const catalogue = tableVerb({
  summary: "list the images that `image import` can build by name",
  call: ({ caisson }) => caisson.images.catalogue(),
  headings: ["NAME", "IMPORTED", "DESCRIPTION"],
  rows: (found) => found.map((one) => [one.name, one.imported ? "yes" : "no", one.description]),
});

/** Options of commands that build an image. */
export const whileMade = {
  verbose: { type: "boolean", short: "v", help: "print the full output of the build" },
  detach: { type: "boolean", help: "print the id and do not wait for the build" },
} as const;

const take: Verb = {
  summary: "build an image of the catalogue, or of a specification file, and print its id",
  usage: "NAME|FILE.yaml",
  words: [1, 1],
  options: whileMade,
  run: async (call) => {
    const { caisson, words } = call;
    return settleImage(call, await caisson.images.import(await whatIs(words[0] ?? "")));
  },
};

/** Waits for the build, unless --detach is given, and prints the id of the image. */
export async function settleImage(call: VerbCall, image: ImageInfo): Promise<number> {
  const { caisson, io, json, options } = call;
  if (image.state === "building" && !options.flag("detach")) {
    const code = await followImage(call, image, options.flag("verbose"));
    if (code !== 0) return code;
  }
  return json ? tellJson(io, await caisson.images.get(image.id)) : tellLine(io, image.id);
}

/** A path has a slash or ends in .yaml; names of the catalogue have neither. */
async function whatIs(word: string): Promise<ImportImage> {
  if (!/\.ya?ml$/.test(word) && !/^[./]/.test(word)) return { catalogue: word };
  try {
    if ((await stat(word)).size > buildLimits.specBytes)
      throw new AppError("too_large", `'${word}' is larger than ${buildLimits.specBytes} bytes`);
    return { spec: await readFile(word, "utf8") };
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("not_found", `cannot read '${word}' (${errnoOf(error)})`, {
      hint: "caisson image catalogue lists the images that need no file",
      cause: error,
    });
  }
}

const show: Verb = {
  summary: "show an image by id, name or alias",
  usage: "IMAGE",
  words: [1, 1],
  run: async ({ caisson, words, io }) => tellJson(io, await caisson.images.get(words[0] ?? "")),
};

const log: Verb = {
  summary: "print the build log of an image, until the build ends",
  usage: "IMAGE",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    for await (const message of caisson.images.log(words[0] ?? "")) {
      if (json) io.stdout.write(`${JSON.stringify(message)}\n`);
      else if (message.type === "step") tellLine(io, `==> ${message.step}`);
      else if (message.type === "log") tellLine(io, message.data.replace(/\n$/, ""));
      else return message.state === "failed" ? 1 : 0;
    }
    return 0;
  },
};

const remove = quietVerb("delete an image, or cancel its build", "IMAGE", ({ caisson }, image) =>
  caisson.images.delete(image),
);

export const imageVerbs: Record<string, Verb> = {
  "image ls": list,
  "image catalogue": catalogue,
  "image import": take,
  "image show": show,
  "image log": log,
  "image rm": remove,
};
