import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { AppError, errnoOf } from "../../core/errors.ts";
import { defined } from "../../lib/defined.ts";
import { sendFolder } from "./folder-archive.ts";
import { settleImage, whileMade } from "./images.ts";
import type { Verb } from "./verb.ts";
import { webStream } from "./web-stream.ts";

const name = { type: "string", value: "NAME", help: "name of the image in Caisson" } as const;

const pull: Verb = {
  summary: "import an image from a registry and print its id",
  usage: "REFERENCE",
  words: [1, 1],
  options: {
    name,
    ...whileMade,
    credentials: {
      type: "string",
      value: "SECRET",
      help: "name of a secret that holds USER:PASSWORD for the registry",
    },
  },
  run: async (call) => {
    const { caisson, words, options } = call;
    const more = defined({ name: options.text("name"), credentials: options.text("credentials") });
    return settleImage(call, await caisson.images.import({ reference: words[0] ?? "", ...more }));
  },
};

const load: Verb = {
  summary: "import an image from an archive (OCI layout or docker save) and print its id",
  usage: "FILE|FOLDER",
  words: [1, 1],
  options: {
    name,
    ...whileMade,
    image: { type: "string", value: "NAME", help: "image to import, if the archive contains several" },
  },
  run: async (call) => {
    const { caisson, words, options } = call;
    const [path = ""] = words;
    const info = await stat(path).catch((error: unknown) => {
      throw new AppError("not_found", `cannot read '${path}' (${errnoOf(error)})`, { cause: error });
    });
    const more = defined({ name: options.text("name"), image: options.text("image") });
    const load = (archive: ReadableStream<Uint8Array>) => caisson.images.load(archive, more);
    const made = info.isDirectory() ? await sendFolder(path, load) : await load(webStream(createReadStream(path)));
    return settleImage(call, made);
  },
};

export const imageSourceVerbs: Record<string, Verb> = { "image pull": pull, "image load": load };
