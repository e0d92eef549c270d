import { access, lstat, readdir, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { errnoOf } from "../../core/errors.ts";
import { ownPrograms, type RootEntry, type RootImage } from "../../core/image.ts";
import { prepareEtc, prepareOver } from "./host-etc.ts";

const systemFolders = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Parts of /usr that tell about this host and that no program needs. */
const masked = ["/usr/local/etc", "/usr/src", "/usr/lib/modules"];
/** Last in the search path: what the host has by the same name wins. */
const ownFolder = "/opt/caisson/bin";

/**
 * The host image: this machine's /usr, read-only, with an /etc of its own. It holds nothing of /root, /home, /var or
 * the host's configuration.
 */
export async function prepareHostImage(options: { home: string; nodePath?: string }): Promise<RootImage> {
  const images = join(options.home, "engine", "images");
  const [{ etc, externallyManaged, programs }, over] = await Promise.all([prepareEtc(images), prepareOver(images)]);
  return {
    name: "host",
    searchPath: `/usr/local/bin:/usr/bin:/bin:${ownFolder}`,
    entries: [
      { kind: "bind", path: "/usr", source: "/usr" },
      ...masked.map((path): RootEntry => ({ kind: "mask", path })),
      ...(await Promise.all(systemFolders.map(describeSystemFolder))).flat(),
      { kind: "bind", path: "/etc", source: etc },
      ...(await managedPythons()).map((path): RootEntry => ({ kind: "bind", path, source: externallyManaged })),
      { kind: "folder", path: ownFolder },
      ...(await pythonEntries()),
      ...(await nodeEntries(options.nodePath)),
    ],
    additions: [{ kind: "bind", path: ownPrograms, source: programs }],
    over,
  };
}

/** Links into /usr on most hosts, folders of their own on older ones. */
async function describeSystemFolder(path: string): Promise<RootEntry[]> {
  try {
    const info = await lstat(path);
    if (info.isDirectory()) return [{ kind: "bind", path, source: path }];
    if (!info.isSymbolicLink()) return [];
    const target = await readlink(path);
    const inUsr = (isAbsolute(target) ? target : `/${target}`).startsWith("/usr/");
    return inUsr ? [{ kind: "link", path, target }] : [];
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Files with which Debian's pip is told to install nothing (PEP 668). */
async function managedPythons(): Promise<string[]> {
  const found: string[] = [];
  for (const folder of ["/usr/lib", "/usr/lib64", "/usr/local/lib"]) {
    if (!(await isKind(folder, "isDirectory"))) continue;
    for (const name of (await readdir(folder)).filter((one) => /^python3[.\d]*$/.test(one)).sort()) {
      const path = join(folder, name, "EXTERNALLY-MANAGED");
      if (await isKind(path, "isFile")) found.push(path);
    }
  }
  return found;
}

/** False for a link to one. */
function isKind(path: string, kind: "isDirectory" | "isFile"): Promise<boolean> {
  return lstat(path).then(
    (info) => info[kind](),
    () => false,
  );
}

/** Debian has `python3` alone; scripts and agents say `python`. */
async function pythonEntries(): Promise<RootEntry[]> {
  for (const target of ["/usr/local/bin/python3", "/usr/bin/python3"])
    if (await isThere(target)) return [{ kind: "link", path: `${ownFolder}/python`, target }];
  return [];
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** A Node from elsewhere comes last in the search path: the system's own wins where there is one. */
async function nodeEntries(nodePath: string | undefined): Promise<RootEntry[]> {
  if (nodePath === undefined) return [];
  const source = await realpath(nodePath);
  if (source.startsWith("/usr/") && !masked.some((path) => source.startsWith(`${path}/`))) return [];
  return [{ kind: "bind", path: `${ownFolder}/node`, source }];
}
