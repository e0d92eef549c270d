import { createReadStream } from "node:fs";
import { lstat } from "node:fs/promises";
import { basename } from "node:path";
import type { Files, Sandbox } from "@caisson/sdk";
import { AppError, errnoOf } from "../../core/errors.ts";
import type { RunIo } from "../run.ts";
import { writeOut } from "../write-out.ts";
import { bringFile, bringFolder } from "./bring.ts";
import { CopyProgress } from "./copy-progress.ts";
import { sendFolder } from "./folder-archive.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellTime } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";
import { quietVerb, tableVerb } from "./verb-kinds.ts";
import { webStream } from "./web-stream.ts";

const list = tableVerb({
  summary: "list a folder in a sandbox",
  usage: "SANDBOX [PATH]",
  options: { recursive: { type: "boolean", short: "r", help: "include subfolders" } },
  call: async (call) =>
    (await namedSandbox(call)).files.list(call.words[1], { recursive: call.options.flag("recursive") }),
  headings: ["MODE", "SIZE", "MODIFIED", "NAME"],
  rows: (found) =>
    found.map(({ mode, size, modified_at, name, type, target }) => [
      ...[mode, size, tellTime(modified_at)],
      `${name}${type === "directory" ? "/" : target === undefined ? "" : ` -> ${target}`}`,
    ]),
});

const cat: Verb = {
  summary: "print a file from a sandbox",
  usage: "SANDBOX PATH",
  words: [2, 2],
  run: async (call) => {
    const { files } = await namedSandbox(call);
    for await (const piece of await files.read(call.words[1] ?? ""))
      if (!(await writeOut(call.io.stdout, piece))) break;
    return 0;
  },
};

/** A verb on one or two paths. */
function onPaths(summary: string, paths: string, act: (files: Files, words: string[]) => Promise<void>): Verb {
  return quietVerb(summary, `SANDBOX ${paths}`, async (call, _, ...words) =>
    act((await namedSandbox(call)).files, words),
  );
}

/** `ID:PATH`; undefined for a path of this machine. */
function remote(text: string): { id: string; path: string } | undefined {
  const match = /^([a-z2-7]{16}):(.*)$/.exec(text);
  return match === null ? undefined : { id: match[1] ?? "", path: match[2] ?? "" };
}

async function* counted(path: string, progress: CopyProgress): AsyncGenerator<Uint8Array> {
  for await (const piece of createReadStream(path)) {
    progress.bytes(piece.length);
    yield piece;
  }
}

/** Sends a folder as one archive, so that all of it arrives or nothing. */
async function send(sandbox: Sandbox, from: string, to: string, io: RunIo): Promise<void> {
  const info = await lstat(from).catch((error: unknown) => {
    throw new AppError("not_found", `cannot read '${from}' (${errnoOf(error)})`, { cause: error });
  });
  using progress = new CopyProgress(io, "sent", info.isFile() ? info.size : undefined);
  if (info.isDirectory()) {
    const mtimeNs = BigInt(Math.floor(Date.now() / 1000)) * 1_000_000_000n;
    const upload = (archive: ReadableStream<Uint8Array>) => sandbox.files.upload(archive, to, { replace: true });
    await sendFolder(from, upload, { mtimeNs, progress });
  } else if (info.isFile()) {
    progress.file();
    const body = webStream(counted(from, progress));
    await sandbox.files.write(to, body, { mode: info.mode & 0o111 ? "755" : "644" });
  } else throw new AppError("invalid", `cannot copy '${from}': not a file or folder`);
}

/** An existing folder as the target means a name inside it, like cp. */
async function targetIn(sandbox: Sandbox, from: string, to: string): Promise<string> {
  const path = to === "" ? "." : to;
  if (path.endsWith("/") || path === ".") return `${path.replace(/\/+$/, "")}/${basename(from)}`.replace(/^\.\//, "");
  const found = await sandbox.files.stat(path).catch(() => undefined);
  return found?.type === "directory" ? `${path}/${basename(from)}` : path;
}

async function copy({ caisson, words, io }: VerbCall): Promise<number> {
  const [from = "", to = ""] = words;
  const source = remote(from);
  const target = remote(to);
  if ((source === undefined) === (target === undefined))
    throw new AppError("invalid", "one of the two paths must be SANDBOX:PATH", {
      hint: "caisson cp notes.txt SANDBOX:notes.txt",
    });
  if (target !== undefined) {
    const sandbox = await caisson.getSandbox(target.id);
    await send(sandbox, from, await targetIn(sandbox, from, target.path), io);
    return 0;
  }
  const { id, path } = source ?? { id: "", path: "" };
  const sandbox = await caisson.getSandbox(id);
  const isFolder = path === "" || path === "." || (await sandbox.files.stat(path)).type === "directory";
  const mostBytes = sandbox.info.storage_mb * 1024 ** 2;
  if (isFolder) return (await bringFolder(sandbox.files, path, to, mostBytes, io)) ? 0 : 1;
  await bringFile(sandbox.files, path, to, mostBytes, io);
  return 0;
}

export const fileVerbs: Record<string, Verb> = {
  cp: {
    summary: "copy files and folders into or out of a sandbox",
    usage: "[SANDBOX:]FROM [SANDBOX:]TO",
    about:
      "One of the two paths is SANDBOX:PATH. Only files and folders are copied: links and special files in a sandbox are skipped.",
    words: [2, 2],
    run: copy,
  },
  "files ls": list,
  "files cat": cat,
  "files rm": onPaths("delete a file or folder in a sandbox", "PATH", (files, [path = ""]) =>
    files.remove(path, { recursive: true }),
  ),
  "files mkdir": onPaths("create a folder in a sandbox", "PATH", (files, [path = ""]) => files.mkdir(path)),
  "files mv": onPaths("move or rename a file or folder in a sandbox", "FROM TO", (files, [from = "", to = ""]) =>
    files.move(from, to),
  ),
};
