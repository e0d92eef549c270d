import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreatedSandbox } from "../../packages/server/src/core/engine.ts";
import { ordinary } from "../harness.ts";
import { limits, makeHome, Puppet } from "./fixture.ts";
import { freezeTree, makeRoot, openTidyEngine } from "./layer-trees.ts";

/** Files that many sandboxes and the host open, and what leads to them. */
const shared = [
  "/usr/bin/python3",
  "/usr/bin",
  "/usr/lib",
  "/etc/passwd",
  "/etc",
  "/.caisson/guest",
  "/dev/null",
  "/dev/urandom",
];
const open = ["/usr/bin/python3", "/etc/passwd", "/.caisson/guest", "/dev/null", "/dev/urandom"];

/** One event, or none, of each file that is watched. */
const watch = `
import ctypes, fcntl, struct
libc = ctypes.CDLL(None)
notify = libc.inotify_init1(0o4000)
watched = {libc.inotify_add_watch(notify, path.encode(), 0xfff): path for path in ${JSON.stringify(shared)}}
assert -1 not in watched
def use():
    for path in ${JSON.stringify(open)}:
        with open(path, "rb") as file:
            file.read(1)
def seen():
    found = set()
    try:
        while data := os.read(notify, 65536):
            while data:
                number, _, _, size = struct.unpack_from("iIII", data)
                found.add(watched[number])
                data = data[16 + size:]
    except BlockingIOError:
        return sorted(found)
def lock(kind, path):
    file = open(path, "rb")
    held.append(file)
    try:
        if kind == "flock":
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
held = []
`;

const withCtypes = `import ctypes, fcntl, struct
${makeRoot}
shutil.copytree(f"{library}/ctypes", f"{top}{library}/ctypes", dirs_exist_ok=True)
`;

interface ProbedSandbox {
  name: string;
  sandbox: CreatedSandbox;
  puppet: Puppet;
}

/** Two sandboxes in containers and one under gVisor, of a root of the host's or of one layer; their files lie on one layer too. */
async function makePlaces(root: string, stack: AsyncDisposableStack): Promise<ProbedSandbox[]> {
  const home = stack.use(await makeHome());
  const container = stack.use(await openTidyEngine("container", home));
  const gvisor = stack.use(await openTidyEngine("gvisor", home));
  const freeze = async (code: string) => (await freezeTree(container, code)).id;
  const start = {
    limits,
    ...(root === "layer" ? { root: await freeze(withCtypes) } : {}),
    ...(ordinary ? {} : { base: await freeze("open('/workspace/base', 'w').write('base')") }),
  };
  const made = [await container.create(start), await container.create(start), await gvisor.create(start)];
  return made.map((sandbox, i) => ({
    name: `${sandbox.engine} ${i}`,
    sandbox,
    puppet: stack.use(new Puppet(sandbox)),
  }));
}

describe.each(["host", "layer"])("a sandbox and a root of the %s", (root) => {
  const stack = new AsyncDisposableStack();
  let places: ProbedSandbox[];

  beforeAll(async () => {
    places = await makePlaces(root, stack);
    for (const { puppet } of places) await puppet.run(watch);
  });
  afterAll(() => stack.disposeAsync());

  it("[S89] a watch shows what the sandbox itself opens, and nothing that the host or another one does", async () => {
    for (const { puppet } of places) await puppet.run("seen()");
    for (const path of open) if (existsSync(path)) execFileSync("head", ["-c1", path]);
    for (const { name, puppet } of places) expect([name, await puppet.run("seen()")]).toEqual([name, []]);
    for (const place of places) {
      await place.puppet.run("use()");
      for (const { name, puppet } of places) {
        const expected = puppet === place.puppet ? expect.arrayContaining(open) : [];
        expect([name, await puppet.run("seen()")]).toEqual([name, expected]);
      }
    }
  });

  it("[S89] a lock keeps neither the host nor another one from theirs", async () => {
    for (const path of ["/usr/bin/python3", "/etc/passwd", "/dev/null"]) {
      for (const { name, sandbox, puppet } of places) {
        if (sandbox.engine === "gvisor" && path === "/dev/null") continue; // it has no locks on devices
        const lock = (kind: string) => puppet.run(`lock("${kind}", "${path}")`);
        const got = [await lock("flock"), await lock("flock"), await lock("lockf")];
        expect([name, path, got]).toEqual([name, path, [true, false, true]]);
      }
      const words = ["--exclusive", "--nonblock", path, "echo", "free"];
      expect(execFileSync("flock", words, { encoding: "utf8" })).toBe("free\n");
    }
  });

  it("[S89] a container has no file system of another one's, or of the host's", async () => {
    const devices = (table: string) =>
      table
        .trim()
        .split("\n")
        .map((line) => line.split(" ")[2] ?? "");
    const tables: string[] = [readFileSync("/proc/self/mountinfo", "utf8")];
    for (const { sandbox, puppet } of places)
      if (sandbox.engine === "container")
        tables.push((await puppet.run('open("/proc/self/mountinfo").read()')) as string);
    const all = tables.flatMap((table) => [...new Set(devices(table))]);
    expect(tables.length).toBe(3);
    expect(all.filter((device, i) => all.indexOf(device) !== i)).toEqual([]);
  });
});
