import { createHash, randomUUID } from "node:crypto";
import { access, chmod, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { errnoOf } from "../../core/errors.ts";
import { installPrograms, ownPrograms } from "../../core/image.ts";
import { imageLimits } from "../../images/limits.ts";
import { aptProgram } from "./apt-program.ts";
import { copyPublic, makePublicFolder } from "./copy-public.ts";
import { pipProgram } from "./pip-program.ts";

/** Written, not copied: nothing here says anything of the host. */
const written: Record<string, string> = {
  passwd:
    "root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:1000:1000::/home/user:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
  group: "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n",
  "host.conf": "multi on\n",
  "nsswitch.conf":
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n",
  "resolv.conf": "nameserver 127.64.0.1\n",
  shells: "/bin/sh\n/bin/bash\n",
  // A login shell sets PATH anew.
  "profile.d/caisson.sh": `PATH=${ownPrograms}:$PATH\n`,
};

/** Programs of every sandbox, by their paths below the folder that comes first in the search path. */
const programs: Record<string, string> = {
  apt: aptProgram,
  "apt-get": aptProgram,
  [relative(ownPrograms, `${installPrograms}/pip`)]: pipProgram,
};

/** In place of the host's EXTERNALLY-MANAGED (PEP 668), which names packages of the host: pip prints it when it refuses. */
const externallyManaged = {
  name: "externally-managed",
  text: `[externally-managed]
Error=This Python is shared and read-only. Install packages with the tool
 install_package, or from outside the sandbox:
 .
 caisson install SANDBOX pip PACKAGE
`,
};

/** The guest writes them: the host name is the sandbox's own. */
const links: Record<string, string> = { hosts: "/run/caisson/hosts", hostname: "/run/caisson/hostname" };

/** Public parts of the host's /etc that programs under /usr look for. Keys and passwords are in none of them. */
const copied = [
  "alternatives",
  "bash.bashrc",
  "ca-certificates",
  "ca-certificates.conf",
  "debian_version",
  "fonts",
  "inputrc",
  "java-11-openjdk",
  "java-17-openjdk",
  "java-21-openjdk",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "magic",
  "mime.types",
  "os-release",
  "perl",
  "pki/ca-trust/extracted",
  "pki/tls/certs",
  "profile",
  "protocols",
  "python3",
  "python3.9",
  "python3.10",
  "python3.11",
  "python3.12",
  "python3.13",
  "services",
  "ssl/certs",
  "ssl/openssl.cnf",
  "terminfo",
  "timezone",
];

/** The bundle that most programs trust, which a sandbox can have another of: the guest lets it lead to the host's at first. */
const bundle = {
  path: "ssl/certs/ca-certificates.crt",
  leadsTo: "/run/caisson/ca-bundle.pem",
  hosts: "ssl/host-bundle.crt",
};

interface PreparedEtc {
  /** Files that sandboxes see as /etc. */
  etc: string;
  /** Text that their pip prints when it refuses. */
  externallyManaged: string;
  /** Folder of the programs that every sandbox has. */
  programs: string;
}

/** Makes what sandboxes see in place of the host's own files, once for each state of the host's /etc. */
export async function prepareEtc(images: string): Promise<PreparedEtc> {
  const folder = join(images, `host-${await describeHost()}`);
  await makeOnce(images, folder, build);
  return {
    etc: join(folder, "etc"),
    externallyManaged: join(folder, externallyManaged.name),
    programs: join(folder, "bin"),
  };
}

/** Makes the folder whose /etc lies over that of another root than the host's: what every sandbox has alike. */
export async function prepareOver(images: string): Promise<string> {
  const folder = join(images, `over-${await describeHost()}`);
  await makeOnce(images, folder, buildOver);
  return folder;
}

async function makeOnce(images: string, folder: string, make: (etc: string) => Promise<void>): Promise<void> {
  if (await exists(folder)) return;
  const draft = join(images, `.${randomUUID()}`);
  try {
    await makePublicFolder(draft);
    await make(join(draft, "etc"));
    await rename(draft, folder);
  } catch (error) {
    // Another process made the same one meanwhile.
    if (errnoOf(error) !== "ENOTEMPTY" && errnoOf(error) !== "EEXIST") throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function build(etc: string): Promise<void> {
  await makePublicFolder(etc);
  const budget = { files: imageLimits.etcFiles };
  for (const name of copied) {
    await makePublicFolder(dirname(join(etc, name)));
    await copyPublic(join("/etc", name), join(etc, name), budget);
  }
  await makePublicFolder(dirname(join(etc, bundle.path)));
  await rename(join(etc, bundle.path), join(etc, bundle.hosts)).catch((error: unknown) => {
    if (errnoOf(error) !== "ENOENT") throw error; // a host that trusts nobody
  });
  const managed = join(dirname(etc), externallyManaged.name);
  await writeFile(managed, externallyManaged.text);
  await chmod(managed, 0o644);
  await writePrograms(join(dirname(etc), "bin"));
  await writeCommon(etc);
}

async function writePrograms(folder: string): Promise<void> {
  await makePublicFolder(folder);
  for (const [name, text] of Object.entries(programs)) {
    await makePublicFolder(dirname(join(folder, name)));
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), 0o755);
  }
}

async function buildOver(etc: string): Promise<void> {
  await makePublicFolder(etc);
  await makePublicFolder(dirname(join(etc, bundle.path)));
  await copyPublic(join("/etc", bundle.path), join(etc, bundle.hosts), { files: 1 });
  await writeCommon(etc);
}

async function writeCommon(etc: string): Promise<void> {
  await symlink(bundle.leadsTo, join(etc, bundle.path));
  for (const [name, target] of Object.entries(links)) await symlink(target, join(etc, name));
  for (const [name, text] of Object.entries(written)) {
    await makePublicFolder(dirname(join(etc, name)));
    await writeFile(join(etc, name), text);
    await chmod(join(etc, name), 0o644);
  }
}

/** What the copy depends on: packages that change /etc touch one of these. */
async function describeHost(): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([written, programs, links, bundle, externallyManaged]));
  const states = await Promise.all(copied.map((name) => describe(join("/etc", name))));
  return hash.update(states.join("\n")).digest("hex").slice(0, 16);
}

async function describe(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${path} ${mtimeMs} ${size} ${ino}`;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return path;
    throw error;
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
