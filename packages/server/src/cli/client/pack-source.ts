import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { ServerSource } from "@caisson/sdk";
import { AppError, errnoOf } from "../../core/errors.ts";
import type { RunIo } from "../run.ts";
import { visible } from "../terminal.ts";
import { sendFolder } from "./folder-archive.ts";
import { LeftOut } from "./left-out.ts";
import { webStream } from "./web-stream.ts";

const forms = "a folder, a .tar.gz, npm:NAME@VERSION or pypi:NAME@VERSION";

/** Sends the source that a word names; files get a default name for their server. */
export async function sendSource<T>(
  word: string,
  io: RunIo,
  send: (source: ServerSource, name?: string) => Promise<T>,
): Promise<T> {
  const named = readNamed(word);
  if (named !== undefined) return send(named);
  const info = await stat(word).catch((error: unknown) => {
    throw new AppError("not_found", `cannot read '${word}' (${errnoOf(error)})`, {
      hint: `the source is ${forms}`,
      cause: error,
    });
  });
  const name = nameOf(word);
  if (!info.isDirectory()) return send({ kind: "archive", data: webStream(createReadStream(word)) }, name);
  const leftOut = new LeftOut();
  const made = await sendFolder(word, (data) => send({ kind: "archive", data }, name), { leftOut, gzip: true });
  for (const path of leftOut.names) io.stderr.write(`caisson: not uploaded: ${visible(path)}\n`);
  return made;
}

/** Undefined for a path. */
function readNamed(word: string): ServerSource | undefined {
  if (/^https?:\/\//.test(word)) return { kind: "remote", url: word };
  const [, kind, text = ""] = /^(npm|pypi):(.*)$/s.exec(word) ?? [];
  if (kind === undefined) return undefined;
  const at = text.lastIndexOf("@");
  const [name, version] = at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text, undefined];
  if (!/^(@[^@/]+\/)?[^@/]+$/.test(name) || version === "")
    throw new AppError("invalid", `'${word}' names no package`, { hint: `write ${kind}:NAME@VERSION` });
  return { kind: kind as "npm" | "pypi", package: name, ...(version === undefined ? {} : { version }) };
}

/** The name of a folder or archive, in the characters that servers' names have. */
function nameOf(path: string): string {
  const name = basename(resolve(path))
    .replace(/\.(tar\.gz|tgz)$/i, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "")
    .slice(0, 63);
  return name === "" ? "server" : name;
}
