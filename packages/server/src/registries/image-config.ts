import { posix } from "node:path";
import type { ImageConfig } from "../core/image-record.ts";
import type { ConfigDocument } from "./documents.ts";
import { ociLimits } from "./limits.ts";
import type { Notes } from "./notes.ts";
import { quoted } from "./text.ts";

/** Ours in every sandbox: where its connections go, who it is, and what is loaded first. */
const reserved =
  /^(LD_PRELOAD|LD_AUDIT|(https?|all|no|ftp|socks)_proxy|HOME|USER|LOGNAME|TERM|PATH|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL|AWS)_CA_BUNDLE|PIP_CERT|DENO_CERT|GIT_SSL_CAINFO|NODE_EXTRA_CA_CERTS|CAISSON_.*)$/i;

/** What an image asks for, within what a sandbox gives. */
export function readImageConfig({ config }: ConfigDocument, notes: Notes): ImageConfig {
  const user = bounded(config?.User);
  const workdir = bounded(config?.WorkingDir);
  const env = variables(config?.Env ?? [], notes);
  if (user !== null && !["1000", "1000:1000"].includes(user))
    notes.add(`it asks for the user ${quoted(user)}; code runs as uid 1000`);
  return {
    env: Object.fromEntries(env.filter(([name]) => !isReserved(name, notes))),
    workdir: folderOf(workdir, notes),
    user,
    entrypoint: words("entrypoint", config?.Entrypoint ?? [], notes),
    cmd: words("cmd", config?.Cmd ?? [], notes),
    searchPath: searchPath(env.findLast(([name]) => name === "PATH")?.[1]),
  };
}

/** Every sandbox has these of its own: what an image has there is not seen. */
const own = ["proc", "dev", "sys", "run", "tmp", "home", "root", "workspace"];

/** Where runs begin; null: in the workspace, also where there could be nothing of the image's. */
function folderOf(workdir: string | null, notes: Notes): string | null {
  if (workdir === null) return null;
  const path = posix.normalize(workdir).replace(/(?<=.)\/$/, "");
  if (path === "/workspace") return null;
  const why = !path.startsWith("/")
    ? "is not absolute"
    : !/^[^\0-\x1f\x7f]+$/.test(path)
      ? "has a name that is none"
      : own.includes(path.split("/")[1] ?? "")
        ? "is each sandbox's own"
        : null;
  if (why === null) return path;
  notes.add(`its folder ${quoted(workdir)} ${why}; runs begin in /workspace`);
  return null;
}

function bounded(value: string | null | undefined): string | null {
  return value === undefined || value === null || value === "" ? null : value.slice(0, ociLimits.pathCharacters);
}

function isReserved(name: string, notes: Notes): boolean {
  if (!reserved.test(name)) return false;
  if (name !== "PATH") notes.add(`its variable ${name} is left out: sandboxes have their own`);
  return true;
}

function variables(list: readonly string[], notes: Notes): [string, string][] {
  const kept: [string, string][] = [];
  let bytes = 0;
  for (const text of list) {
    const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=([^\0]*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      notes.add(`its variable ${quoted(text.slice(0, 64))} is left out: it is none`);
      continue;
    }
    bytes += text.length;
    if (kept.length === ociLimits.variables || bytes > ociLimits.variableBytes) {
      notes.add(`variables after ${quoted(name)} are left out: they are too many, or too long`);
      break;
    }
    kept.push([name, value]);
  }
  return kept;
}

function words(what: string, list: readonly string[], notes: Notes): string[] {
  const bytes = list.reduce((sum, word) => sum + word.length, 0);
  if (list.length <= ociLimits.arguments && bytes <= ociLimits.argumentBytes) return [...list];
  notes.add(`its ${what} is left out: it is too long`);
  return [];
}

function searchPath(path: string | undefined): string | null {
  const folders = (path ?? "").split(":").filter((folder) => folder.startsWith("/") && folder.length < 256);
  return folders.length === 0 ? null : folders.slice(0, 32).join(":");
}
