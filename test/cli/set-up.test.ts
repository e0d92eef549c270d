import {
  appendFile,
  chmod,
  chown,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, ordinary } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { Checkout } from "./checkout.ts";

let checkout: Checkout;
let digest: string;
let built: Buffer;
const script = ["/bin/sh", "native/gvisor/build.sh"];

beforeAll(async () => {
  checkout = await Checkout.copy();
  digest = (await readFile(`${checkout.runsc}.digest`, "utf8")).trim();
  built = await readFile(checkout.runsc);
});
afterAll(async () => {
  expect(findLeaks(join(checkout.folder, "home"))).toEqual([]);
  await checkout[Symbol.asyncDispose]();
});

const forget = async () => {
  await rm(checkout.runsc, { force: true });
  await rm(join(checkout.cache, "caisson"), { recursive: true, force: true });
  await mkdir(join(checkout.cache, "caisson"), { mode: 0o700 });
};
const isThere = () =>
  stat(checkout.runsc).then(
    () => true,
    () => false,
  );

describe("gVisor of another checkout", () => {
  it("is taken, as it is", async () => {
    await forget();
    await checkout.keep(digest);
    expect(await checkout.run(script)).toMatchObject({ exitCode: 0 });
    expect(built.equals(await readFile(checkout.runsc))).toBe(true);
    expect((await stat(checkout.runsc)).mode & 0o777).toBe(0o755);
  });

  const doubts: [string, (kept: string) => Promise<void>][] = [
    ["that others may write", (kept) => chmod(kept, 0o775)],
    ["in a folder that others may write", (kept) => chmod(dirname(kept), 0o777)],
    ["below a folder that others may write", (kept) => chmod(join(kept, "../.."), 0o777)],
    ["behind a link", (kept) => rename(kept, `${kept}.other`).then(() => symlink(`${kept}.other`, kept))],
    ["of other sources", (kept) => rename(kept, kept.replace(digest, digest.replace(/^./, "x")))],
    ["that is cut short", (kept) => truncate(kept, 1_000_000)],
    ["that is another program", (kept) => writeFile(kept, "#!/bin/sh\necho runsc version 1\n")],
    ...(ordinary ? [] : ([["of another user", (kept: string) => chown(kept, 12345, 12345)]] as const)),
    ...(ordinary ? [] : ([["in another user's folder", (kept: string) => chown(dirname(kept), 12345, 0)]] as const)),
  ] as [string, (kept: string) => Promise<void>][];
  it.each(doubts)("is not taken where it is one %s", async (_what, spoil) => {
    await forget();
    await spoil(await checkout.keep(digest));
    expect((await checkout.run(script)).exitCode).not.toBe(0);
    expect(await isThere()).toBe(false);
    await chmod(checkout.cache, 0o700);
  });

  it("is not looked for where no home is known", async () => {
    await forget();
    await checkout.keep(digest);
    expect((await checkout.run(script, { cache: false })).exitCode).not.toBe(0);
    expect(await isThere()).toBe(false);
  });
});

describe.skipIf(ordinary)("gVisor that root builds", () => {
  /** What Go is told, by a go that writes it down and can do nothing. */
  async function told(variables: readonly string[]): Promise<string> {
    await forget();
    const [bin, seen] = [join(checkout.folder, "bin"), join(checkout.folder, "seen")];
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, "go"), `#!/bin/sh\nenv >${seen}\nexit 1\n`, { mode: 0o755 });
    const path = `${bin}:/usr/bin:/bin`;
    expect((await checkout.run(script, { cache: false, path, more: [...variables] })).exitCode).not.toBe(0);
    return readFile(seen, "utf8");
  }

  it("is built from Go's folders in a home of root's own, and never in that of the user who called", async () => {
    const [home, own] = [join(checkout.folder, "of-a-user"), join(checkout.folder, "of-root")];
    for (const folder of [home, own]) await mkdir(folder, { mode: 0o700 });
    await chown(home, 12345, 12345);
    expect(await told([`HOME=${own}`])).toContain(`HOME=${own}\n`);
    const others = ["GOMODCACHE", "GOCACHE", "GOENV", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"];
    for (const names of [["HOME"], ["GOPATH"], others])
      expect(await told([`HOME=${own}`, ...names.map((name) => `${name}=${home}`)])).not.toContain(home);
  });
});

describe("a checkout without gVisor", () => {
  const setUp = (cache: boolean) => checkout.run(["./caisson", "--setup"], { cache });
  const cannot =
    /building gVisor from source[\s\S]*warning: cannot build gVisor[\s\S]*to try again, run \.\/caisson --setup/;

  it("says so once, and works", async () => {
    await forget();
    expect(await setUp(false)).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(cannot) });
    const ready = () => stat(join(checkout.path, ".build/ready")).then(({ ino }) => ino);
    const recorded = await ready();
    for (const engine of ["container", "auto"]) {
      const run = ["./caisson", "run", "--engine", engine, "examples/hello.py"];
      expect(await checkout.run(run), engine).toMatchObject({ exitCode: 0, stderr: "" });
    }
    expect(await ready()).toBe(recorded); // no set-up since
  });

  it.skipIf(ordinary)("and without runc runs nothing, and says what to do", async () => {
    const ready = join(checkout.path, ".build/ready");
    const lines = (await readFile(ready, "utf8")).split("\n");
    await writeFile(ready, [`runc ${lines[0]}`.trim(), "0", "absent", ""].join("\n"));
    const hide = (name: string) => `while at=$(command -v ${name}); do mount --bind /dev/null "$at"; done`;
    const before = ["PATH=$PATH:/usr/sbin:/sbin", hide("runc"), hide("runsc")].join("\n");
    const seen = await checkout.run(["./caisson", "--setup"], { cache: false, before });
    expect(seen).toMatchObject({
      exitCode: 125,
      stderr: expect.stringMatching(/no sandbox runtime:.*install.* runc\n/),
    });
    await writeFile(ready, lines.join("\n"));
  });

  it("is tried again when set-up is asked for", async () => {
    expect((await setUp(false)).stderr).toMatch(cannot);
    await checkout.keep(digest);
    expect(await setUp(true)).toMatchObject({ exitCode: 0, stderr: expect.not.stringMatching(/cannot/) });
    expect(await isThere()).toBe(true);
  });

  it("is mended where what was built has gone", async () => {
    await rm(checkout.runsc);
    expect(await checkout.run(["./caisson", "--version"])).toMatchObject({ exitCode: 0 });
    expect(await isThere()).toBe(true);
  });
});

it.each(engines)("a checkout below a folder that is closed to others runs sandboxes on %s", async (engine) => {
  expect((await stat(checkout.folder)).mode & 0o077).toBe(0);
  const seen = await checkout.run(["./caisson", "run", "--engine", engine, "examples/hello.py"]);
  expect(seen).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Hello/), stderr: "" });
});

it("gVisor is built anew where its pinned source has changed; without network the one of before goes on", async () => {
  await appendFile(join(checkout.path, "native/gvisor/go.mod"), "\n// another\n");
  const seen = await checkout.run(["./caisson", "run", "--engine", "gvisor", "examples/hello.py"]);
  expect(seen).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Hello/) });
  expect(seen.stderr).toMatch(/building gVisor from source[\s\S]*cannot build gVisor/);
});
