import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkoutFiles } from "./checkout-files.ts";
import { root } from "./harness.ts";
import { runOnHost, type Seen } from "./security/host-run.ts";

const idCount = 65_536;
/** What of the checkout an ordinary user needs to run it and its tests: the checkout itself may be closed to others. */
const copied = [...checkoutFiles, "test", "tsconfig.json", "vitest.config.ts"];

/** Shows the user an /etc with that user in it, this Node and its packages, and becomes it, with nothing of root's. */
const become = `
set -e
mount --bind "$0/etc" /etc
mount --bind "$0/packages" "$0/checkout/node_modules"
mount --bind "$0/node" "$0/checkout/.build/bin/node"
[ -z "$3" ] || echo $$ >"$3/cgroup.procs"
cd "$0/home"
folder=$0 id=$1 soak=$2
shift 3
exec setpriv --reuid "$id" --regid "$id" --clear-groups --inh-caps=-all env -i HOME="$folder/home" TMPDIR="$folder/tmp" \\
  CAISSON_HOME="$folder/home/caisson" CAISSON_SOAK="$soak" PATH="$folder/checkout/.build/bin:/usr/bin:/bin" "$@"
`;

interface UserOptions {
  /** What /etc/subuid and /etc/subgid hold of this user; ranges of its own unless told. */
  subordinate?: boolean;
  /** A cgroup that is this user's, for its processes. */
  cgroup?: string;
  /** The one above it that was given to this user. */
  delegated?: string;
}

/**
 * A user of this machine for the time of a test: its lines stand in a copy of /etc that only its own processes see. Its
 * numbers are random, since tests of other checkouts may have such a user at the same time.
 */
export class OrdinaryUser implements AsyncDisposable {
  readonly id: number;
  readonly firstId: number;
  readonly folder: string;
  readonly checkout: string;
  readonly #cgroup: string;

  private constructor(folder: string, id: number, firstId: number, cgroup: string) {
    this.folder = folder;
    this.checkout = join(folder, "checkout");
    this.id = id;
    this.firstId = firstId;
    this.#cgroup = cgroup;
  }

  static async make({ subordinate = true, cgroup = "", delegated = "" }: UserOptions = {}): Promise<OrdinaryUser> {
    const folder = await mkdtemp("/var/tmp/caisson-user-");
    const id = 500_000_000 + randomInt(1_000_000);
    const firstId = 600_000_000 + randomInt(10_000) * idCount;
    await chmod(folder, 0o755);
    const user = new OrdinaryUser(folder, id, firstId, cgroup);
    await user.#writeEtc(subordinate);
    await user.#copyCheckout();
    for (const name of ["home", "tmp"]) await mkdir(join(folder, name), { mode: 0o700 });
    const owned = ["home", "tmp", "checkout"].map((name) => join(folder, name));
    await must(["/bin/chown", "-R", `${id}:${id}`, ...owned, ...[cgroup, delegated].filter(Boolean)]);
    return user;
  }

  /** Runs a program as this user, from its home. */
  run(command: readonly string[], timeoutMs = 60_000): Promise<Seen> {
    const soak = process.env.CAISSON_SOAK ?? "";
    const words = ["/bin/sh", "-c", become, this.folder, String(this.id), soak, this.#cgroup, ...command];
    return runOnHost(["/usr/bin/unshare", "--mount", "--propagation=private", ...words], { timeoutMs });
  }

  /** Processes whose real id is this user's or a subordinate one. */
  processes(): number[] {
    return readdirSync("/proc")
      .filter(isNumber)
      .map(Number)
      .filter((pid) => this.#owns(pid));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const left = this.processes();
    for (const pid of left) process.kill(pid, "SIGKILL");
    await rm(this.folder, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`the user's processes ${left.join(", ")} were left behind`);
  }

  #owns(pid: number): boolean {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const uid = Number(/^Uid:\s*(\d+)/m.exec(status)?.[1]);
      const isDead = /^State:\s*[ZX]/m.test(status);
      return !isDead && (uid === this.id || (uid >= this.firstId && uid < this.firstId + idCount));
    } catch {
      return false; // gone meanwhile
    }
  }

  async #writeEtc(subordinate: boolean): Promise<void> {
    const etc = join(this.folder, "etc");
    await must(["/bin/cp", "-a", "/etc", etc]);
    const add = async (name: string, line: string) => {
      const known = await readFile(join(etc, name), "utf8").catch(() => "");
      await writeFile(join(etc, name), `${known.trimEnd()}\n${line}\n`, { mode: 0o644 });
    };
    await add("passwd", `crate:x:${this.id}:${this.id}::${this.folder}/home:/bin/sh`);
    await add("group", `crate:x:${this.id}:`);
    if (!subordinate) return;
    for (const name of ["subuid", "subgid"]) await add(name, `crate:${this.firstId}:${idCount}`);
  }

  async #copyCheckout(): Promise<void> {
    // With the times of files and folders: by them the launcher tells that nothing is to be built.
    await mkdir(this.checkout);
    await must(["/bin/cp", "-a", "--parents", ...copied, this.checkout], root);
    await rm(join(this.checkout, ".build/bin/node"));
    await must(["/bin/chmod", "-R", "a+rX", this.checkout]);
    await mkdir(join(this.checkout, "node_modules"));
    await writeFile(join(this.checkout, ".build/bin/node"), "", { mode: 0o755 });
    await symlink(await realpath(process.execPath), join(this.folder, "node"));
    await symlink(join(root, "node_modules"), join(this.folder, "packages"));
  }
}

/** Why this machine lets no ordinary user make a namespace, found by making one without Caisson; undefined where it does. */
export async function findObstacle(): Promise<string | undefined> {
  if (process.geteuid?.() !== 0) return "only root can make a user for these tests";
  const become = ["/usr/bin/setpriv", "--reuid=499999999", "--regid=499999999", "--clear-groups"];
  const unshare = ["/usr/bin/unshare", "--user", "--map-root-user", "/bin/true"];
  const seen = await runOnHost([...become, ...unshare]);
  if (seen.exitCode !== 0) return `no user namespace for an ordinary user: ${seen.stderr.trim()}`;
  const mapper = await stat("/usr/bin/newuidmap").catch(() => undefined);
  return mapper === undefined ? "newuidmap is not installed" : undefined;
}

const isNumber = (name: string) => /^\d+$/.test(name);

async function must(command: readonly string[], cwd = "/"): Promise<void> {
  const done = await runOnHost(command, { cwd });
  if (done.exitCode !== 0) throw new Error(`${command.join(" ")}: ${done.stderr}`);
}
