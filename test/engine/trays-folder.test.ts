import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HelperClient } from "../../packages/server/src/engines/oci/helper-client.ts";
import { ordinary } from "../harness.ts";
import { engineNames, helperPath, makeHome } from "./fixture.ts";

/** Kernels without large pages in memory refuse the option. */
function hasLargePages(): boolean {
  const place = mkdtempSync(join(tmpdir(), "caisson-large-"));
  try {
    execFileSync("/usr/bin/mount", ["-t", "tmpfs", "-o", "huge=always", "tmpfs", place], { stdio: "ignore" });
    execFileSync("/usr/bin/umount", [place]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(place, { recursive: true });
  }
}

const mountsOf = (path: string) =>
  readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .filter((line) => line.split(" ")[1] === path);

const openHelper = () => new HelperClient(helperPath, ["serve"], { onExit: () => undefined, onDeath: () => undefined });

async function askFor(folder: string): Promise<void> {
  await using helper = openHelper();
  await helper.request("trays", [["folder", folder]]);
}

describe.skipIf(ordinary || !hasLargePages())("the folder of trays", () => {
  let above: string;
  let folder: string;
  beforeEach(() => {
    above = mkdtempSync(join(tmpdir(), "caisson-trays-"));
    folder = join(above, "caisson");
  });
  afterEach(() => {
    for (const _ of mountsOf(folder)) execFileSync("/usr/bin/umount", [folder]);
    rmSync(above, { recursive: true });
  });

  it("is a file system of large pages, which others can pass through and not list", async () => {
    await askFor(folder);
    expect(mountsOf(folder)).toEqual([expect.stringMatching(/ tmpfs rw,nosuid,nodev,noexec,.*huge=always/)]);
    const { mode, uid } = statSync(folder);
    expect({ mode: mode & 0o777, uid }).toEqual({ mode: 0o711, uid: 0 });
  });

  it("is mounted once, however many ask for it at the same time", async () => {
    await using opened = new AsyncDisposableStack();
    const helpers = Array.from({ length: 8 }, () => opened.use(openHelper()));
    for (let round = 0; round < 40; round++) {
      await Promise.all(helpers.map((helper) => helper.request("trays", [["folder", folder]])));
      expect(mountsOf(folder)).toHaveLength(1);
      execFileSync("/usr/bin/umount", [folder]);
    }
  });

  it("hides nothing that lay there before", async () => {
    mkdirSync(folder, { mode: 0o711 });
    writeFileSync(join(folder, "of-a-sandbox"), "");
    await askFor(folder);
    expect(mountsOf(folder)).toEqual([]);
    expect(readdirSync(folder)).toEqual(["of-a-sandbox"]);
  });

  it.each<[string, () => void]>([
    ["another user has made", () => chownSync(folder, 4242, 4242)],
    ["others may write", () => chmodSync(folder, 0o777)],
    [
      "is a link",
      () => {
        rmSync(folder, { recursive: true });
        mkdirSync(join(above, "elsewhere"));
        symlinkSync(join(above, "elsewhere"), folder);
      },
    ],
  ])("is left alone where it is one that %s", async (_what, spoil) => {
    mkdirSync(folder, { mode: 0o711 });
    spoil();
    await askFor(folder);
    expect([...mountsOf(folder), ...mountsOf(join(above, "elsewhere"))]).toEqual([]);
  });
});

describe.skipIf(ordinary).each(engineNames)("a sandbox of engine %s", (name) => {
  /** Its own /dev/shm, in which it finds this. */
  async function send(prepare: string) {
    await using home = await makeHome();
    const words = [process.execPath, join(import.meta.dirname, "sender.ts"), name, home.home];
    const inside = `mount -t tmpfs tmpfs /dev/shm && cd /dev/shm && ${prepare} && exec "$@"`;
    const told = execFileSync("/usr/bin/unshare", ["-m", "/bin/sh", "-c", inside, "sh", ...words], {
      encoding: "utf8",
    });
    return JSON.parse(told);
  }

  it("is sent what is large by trays", async () => {
    expect(await send("true")).toEqual({ hasLink: true, arrived: 1 << 20 });
  });

  it.each([
    ["made by another user", "mkdir caisson && chown 4242 caisson"],
    ["that others may write", "mkdir -m 0777 caisson"],
    ["that is a link", "mkdir elsewhere && ln -s elsewhere caisson"],
    ["that is none", "touch caisson"],
  ])("is led to no folder %s, and works without one (hazard 3)", async (_what, prepare) => {
    expect(await send(prepare)).toEqual({ hasLink: false, arrived: 1 << 20 });
  });
});
