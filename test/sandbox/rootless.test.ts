import { mkdir, readdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Containment, EngineName, NotEnforced } from "../../packages/server/src/core/engine.ts";
import { sandboxLimits } from "../../packages/server/src/core/limits.ts";
import type { RunResult } from "../../packages/server/src/core/run.ts";
import { engines, soak } from "../harness.ts";
import { findObstacle, OrdinaryUser } from "../ordinary-user.ts";
import { runVitest } from "../vitest-as-user.ts";

type Runs = "hello" | "rename" | "bomb" | "memory" | "late" | "after" | "mounts";
interface Map {
  uidMaps: number[][][];
  gidMaps: number[][][];
  owners: number[];
  cgroups: string[];
}
/** What rootless-owner.ts prints. */
interface Told {
  enforced: Containment[];
  notEnforced: NotEnforced[];
  ids: string[];
  runs: Record<Runs, RunResult>;
  stats: { processes: number; memoryBytes: number };
  seen: [Map, Map];
  leaks: string[];
}

/** Claims of the contract suites that are not an ordinary user's, each with its reason. */
const rootOnly: readonly [claim: string, why: string][] = [
  ["SBX-08", "no cpu controller is delegated"],
  ["SBX-10", "storage is not enforced"],
  ["upload past the storage limit", "storage is not enforced"],
  ["one that fills the workspace", "storage is not enforced"],
  ["SBX-14. what is enforced is told", "lists what is enforced for root; told below for an ordinary user"],
  ["reports every containment as enforced", "likewise"],
  ["a cgroup that fires before the guest", "no memory controller is delegated"],
  ["on the host the guest alone holds the wire", "only root may list the descriptors of a sandbox's processes"],
  ["can be passed through and not listed", "the folder is the user's alone"],
  ["belongs to the owner named", "a user's sandboxes belong to that user"],
  ["where the file system knows of seconds alone", "a user's workspaces are folders, no images that could be made so"],
  ["whose own budget is used up", "root opens the pipes of another user; a user has its own budget alone"],
  ["with a mount point in it", "only root mounts one there"],
  ["with a device is refused", "only root makes one there"],
  ["shows and lets write nothing of what is mounted below", "only root mounts there; a folder with mounts is refused"],
];
/** In `npm test` the claims that an ordinary user's sandboxes keep by other means than root's. */
const kept =
  "leaves nothing behind|outlives its killed owner|while paused|killed from outside|failed start|SBX-03|SBX-05|SBX-06|FIL-07";
const sampled = ["test/engine/lifecycle.test.ts", "test/sandbox/boundary.test.ts", "test/sandbox/restart.test.ts"];
const all = [
  ...sampled,
  "test/engine/changes.test.ts",
  "test/engine/boundary.test.ts",
  "test/engine/input.test.ts",
  "test/sandbox/exec.test.ts",
  "test/sandbox/files.test.ts",
  "test/sandbox/limits.test.ts",
  "test/sandbox/search.test.ts",
  "test/sandbox/tar.test.ts",
  "test/sandbox/watch.test.ts",
  "test/sandbox/terminal.test.ts",
  "test/sandbox/warm.test.ts",
  "test/wire/attach.test.ts",
];

/** The mapped ids of the host, as pairs of first and last. */
const spans = (maps: number[][][]) =>
  maps.flat().map(([, first = 0, count = 0]) => [first, first + count - 1] as [number, number]);

/** Ids of the host that a sandbox can name. */
const reach = (maps: number[][][]) =>
  new Set(spans(maps).flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i)));

const obstacle = await findObstacle();
if (obstacle !== undefined) console.log(`not tried as an ordinary user: ${obstacle}`);

describe.skipIf(obstacle !== undefined)("an ordinary user", () => {
  let user: OrdinaryUser;
  beforeAll(async () => {
    user = await OrdinaryUser.make();
  });
  afterAll(() => user[Symbol.asyncDispose]());

  describe.each(engines)("with engine %s", (engine) => {
    let told: Told;
    beforeAll(async () => {
      told = await tellOf(user, engine);
    }, 120_000);

    it("[SBX-15] runs code, as uid 1000 of a namespace that names the ids it needs and no more", () => {
      const { hello } = told.runs;
      expect(hello).toMatchObject({ exit_code: 0, stderr: "" });
      expect(hello.stdout).toMatch(/^1000\n1000\n/);
      for (const { uidMaps, gidMaps } of told.seen) {
        expect(uidMaps.length).toBeGreaterThan(0);
        expect(reach(uidMaps).size).toBeLessThanOrEqual(6);
        expect(reach(gidMaps).size).toBeLessThanOrEqual(sandboxLimits.idsPerSlice);
      }
    });

    it("[SBX-15] neither the user nor another sandbox has a name in a sandbox (hazard 12)", () => {
      const [one, two] = told.seen;
      for (const maps of [one.uidMaps, one.gidMaps, two.uidMaps, two.gidMaps])
        expect(reach(maps)).not.toContain(user.id);
      expect([...reach(one.uidMaps)].filter((id) => reach(two.uidMaps).has(id))).toEqual([]);
      expect([...reach(one.gidMaps)].filter((id) => reach(two.gidMaps).has(id))).toEqual([]);
      expect(two.owners.length).toBeGreaterThan(0);
      for (const owner of two.owners) {
        expect(reach(two.uidMaps)).toContain(owner);
        expect(reach(one.uidMaps)).not.toContain(owner);
      }
    });

    it("[SBX-15] tells what is not enforced, and nothing as enforced that is not applied", () => {
      expect(told.notEnforced.map(({ what }) => what)).toEqual(["memory", "cpu", "storage"]);
      for (const { why } of told.notEnforced) expect(why.length).toBeGreaterThan(20);
      expect(told.enforced).toEqual([
        "user_namespace",
        "network_namespace",
        "read_only_root",
        "no_capabilities",
        "no_new_privileges",
        "seccomp",
        "processes",
      ]);
    });

    it.runIf(engine === "container")("[S89] sees the host's folders through overlays, as root's sandboxes do", () => {
      const rows = told.runs.mounts.stdout.split("\n").map((line) => line.split(" "));
      const kinds = Object.fromEntries(rows.map((row) => [row[4], row[row.indexOf("-") + 1]]));
      expect(kinds).toMatchObject({ "/usr": "overlay", "/etc": "overlay" });
    });

    it("[SBX-15] has files_changed", () => {
      expect(told.runs.hello.files_changed).toMatchObject([{ path: "made", action: "created", size_bytes: 6 }]);
      const changes = told.runs.rename.files_changed.map(({ path, action }) => `${action} ${path}`);
      expect(changes.sort()).toEqual(["created linked", "created moved", "deleted made", "deleted sub/written"]);
    });

    it("[SBX-15] stops a fork bomb at the limit of processes", () => {
      const forks = Number(told.runs.bomb.stdout);
      expect(forks).toBeGreaterThan(10);
      expect(forks).toBeLessThan(16);
    });

    it("[SBX-15] ends a run that the guest finds past the memory limit", () => {
      expect(told.runs.memory).toMatchObject({ oom_killed: true, stdout: "" });
    });

    it("[SBX-15] ends the whole tree of a run that is out of time", () => {
      expect(told.runs.late).toMatchObject({ timed_out: true });
      expect(told.runs.after.stdout).toBe("0\n");
      expect(told.stats.processes).toBeGreaterThan(0);
    });

    it("[SBX-15] leaves nothing behind", async () => {
      expect(told.leaks).toEqual([]);
      expect(user.processes()).toEqual([]);
      expect(await readdir(join(user.folder, "home/.local/state/caisson/uids"))).not.toContainEqual(
        expect.stringMatching(/^\d+$/),
      );
    });
  });

  it("[SBX-15] runs a script by the launcher, with the strongest engine that works", async () => {
    const words = [join(user.checkout, "caisson"), "run", "--json", join(user.checkout, "examples/hello.py")];
    const seen = await user.run(words, 120_000);
    expect(seen).toMatchObject({ exitCode: 0 });
    const result = JSON.parse(seen.stdout) as RunResult & { not_enforced: NotEnforced[] };
    expect(result.stdout).toContain("uid 1000");
    expect(result.not_enforced.map(({ what }) => what)).toEqual(["memory", "cpu", "storage"]);
  });

  it("[SBX-15] is told by doctor what is not enforced", async () => {
    const seen = await user.run([join(user.checkout, "caisson"), "doctor"]);
    expect(seen).toMatchObject({ exitCode: 0 });
    expect(seen.stdout).toMatch(/^ok +engine gvisor/m);
    expect(seen.stdout).toMatch(/^ok +subordinate ids +from \d+: 248 sandboxes/m);
    expect(seen.stdout).toMatch(/^warn +cgroups +without delegated memory, cpu/m);
    expect(seen.stdout).toMatch(/^warn +storage +not enforced/m);
  });

  it("[SBX-15] without subordinate ids is refused with the command that gives some", async () => {
    await using poor = await OrdinaryUser.make({ subordinate: false });
    const run = await poor.run([join(poor.checkout, "caisson"), "run", join(poor.checkout, "examples/hello.py")]);
    expect(run.exitCode).toBe(125);
    expect(run.stdout).toBe("");
    expect(run.stderr).toContain("crate has no subordinate ids");
    const doctor = await poor.run([join(poor.checkout, "caisson"), "doctor"]);
    expect(doctor.exitCode).toBe(125);
    expect(doctor.stdout).toMatch(/usermod --add-subuids (\d+)-\d+ --add-subgids \1-\d+ crate/);
  });

  it("[SBX-15] keeps the contract that root's sandboxes keep", { timeout: 900_000 }, async () => {
    const exempt = rootOnly.map(([claim]) => claim).join("|");
    const pattern = `^(?!.*(${exempt})).*${soak ? "" : `(${kept})`}`;
    const run = await runVitest(user, soak ? all : sampled, pattern, 800_000);
    expect(run.failed).toEqual([]);
    expect(run.passed.length).toBeGreaterThan(soak ? 150 : 15);
    expect(user.processes()).toEqual([]);
  });

  it("[SBX-15] puts its sandboxes into a cgroup that is delegated to it", async (context) => {
    const mounts = await readFile("/proc/mounts", "utf8");
    const unified = /^\S+ (\S+) cgroup2 /m.exec(mounts)?.[1];
    if (unified === undefined) return context.skip("this host has no cgroup of version 2");
    const folder = join(unified, `caisson-delegated-${process.pid}`);
    await mkdir(join(folder, "own"), { recursive: true });
    const remove = async () => {
      for (const path of [join(folder, "caisson"), join(folder, "own"), folder]) await rmdir(path).catch(() => {});
    };
    try {
      await using member = await OrdinaryUser.make({ cgroup: join(folder, "own"), delegated: folder });
      const told = await tellOf(member, "container");
      const [first = ""] = told.seen[0].cgroups;
      expect(first).toMatch(
        new RegExp(`^0::/.*caisson-delegated-${process.pid}/caisson/[0-9a-f]{8}-${told.ids[0]}$`, "m"),
      );
      expect(await readdir(join(folder, "caisson"))).not.toContainEqual(expect.stringContaining(told.ids[0] ?? ""));
    } finally {
      await remove();
    }
  });
});

async function tellOf(user: OrdinaryUser, engine: EngineName): Promise<Told> {
  const owner = join(user.checkout, "test/sandbox/rootless-owner.ts");
  const seen = await user.run(["node", owner, engine, join(user.folder, "home/caisson")], 110_000);
  if (seen.exitCode !== 0) throw new Error(`the owner failed: ${seen.stderr}${seen.stdout}`);
  return JSON.parse(seen.stdout) as Told;
}
