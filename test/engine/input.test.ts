import { execFileSync } from "node:child_process";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findLeaks } from "../leaks.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";

async function makeInput(home: string): Promise<string> {
  const folder = join(home, "input");
  await mkdir(join(folder, "deep/er"), { recursive: true });
  await writeFile(join(folder, "deep/er/data.txt"), "data");
  await writeFile(join(folder, "secret.txt"), "for the owner", { mode: 0o600 });
  await writeFile(join(folder, "tool"), "#!/bin/sh\n");
  await chmod(join(folder, "tool"), 0o700);
  await symlink("../secret.txt", join(folder, "deep/link"));
  return folder;
}

describe.each(engineNames)("an input folder of engine %s", (name) => {
  it("is readable and not writable inside, whatever its modes on the host", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const inputFolder = await makeInput(home.home);
    using puppet = new Puppet(await engine.create({ limits, inputFolder }));
    expect(await puppet.run(`open("input/deep/er/data.txt").read()`)).toBe("data");
    expect(await puppet.run(`open("input/deep/link").read()`)).toBe("for the owner");
    expect(await puppet.run(`os.access("input/tool", os.X_OK)`)).toBe(true);
    for (const act of [
      `open("input/new", "w")`,
      `os.unlink("input/tool")`,
      `os.rename("input", "x")`,
      `os.chmod("input/tool", 0o777)`,
    ]) {
      await expect(puppet.run(act), act).rejects.toThrow(/Error/);
    }
    await puppet.run(`open("output/result", "w").write("x")`);
  });

  it("does not appear among the changed files", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { id } = await engine.create({ limits, inputFolder: await makeInput(home.home) });
    await engine.markFiles(id);
    expect(await engine.changedFiles(id)).toEqual({ changes: [], truncated: false });
  });
});

describe("an input folder", () => {
  const refused: [string, RegExp, (folder: string) => Promise<unknown> | unknown][] = [
    [
      "a socket",
      /door/,
      (folder) => new Promise((resolve) => server.listen(join(folder, "door"), () => resolve(null))),
    ],
    ["a FIFO", /pipe/, (folder) => execFileSync("/usr/bin/mkfifo", [join(folder, "pipe")])],
    ["a device", /null/, (folder) => execFileSync("/usr/bin/mknod", [join(folder, "null"), "c", "1", "3"])],
    ["a link that leaves it", /out/, (folder) => symlink("../../etc/shadow", join(folder, "deep/out"))],
    ["an absolute link", /abs/, (folder) => symlink("/etc/shadow", join(folder, "abs"))],
  ];
  const server = createServer();

  it.each(refused)("with %s is refused by name", async (_, pattern, add) => {
    await using home = await makeHome();
    await using engine = await openEngine("container", home);
    const inputFolder = await makeInput(home.home);
    await add(inputFolder);
    try {
      await expect(engine.create({ limits, inputFolder })).rejects.toThrow(pattern);
      expect(findLeaks(home.home)).toEqual([]);
    } finally {
      server.close();
    }
  });

  it("with a mount point in it is refused by name (hazard 18)", async () => {
    await using home = await makeHome();
    await using engine = await openEngine("container", home);
    const inputFolder = await makeInput(home.home);
    execFileSync("/usr/bin/mount", ["--bind", join(inputFolder, "deep/er"), join(inputFolder, "deep/er")]);
    try {
      await expect(engine.create({ limits, inputFolder })).rejects.toThrow(/deep\/er is a mount point/);
    } finally {
      execFileSync("/usr/bin/umount", [join(inputFolder, "deep/er")]);
    }
  });

  it("that does not exist is refused", async () => {
    await using home = await makeHome();
    await using engine = await openEngine("container", home);
    await expect(engine.create({ limits, inputFolder: "/nonexistent/folder" })).rejects.toThrow(/nonexistent/);
  });
});

describe.each(engineNames)("a folder of the image of engine %s", (name) => {
  it("shows and lets write nothing of what is mounted below it on the host", async () => {
    await using home = await makeHome();
    const source = join(home.home, "shared");
    await mkdir(join(source, "below"), { recursive: true });
    await chmod(home.home, 0o755);
    execFileSync("/usr/bin/mount", ["-t", "tmpfs", "-o", "mode=777", "below", join(source, "below")]);
    try {
      await writeFile(join(source, "below/inner"), "of the host");
      const plain = await openEngine(name, home);
      await plain[Symbol.asyncDispose]();
      const { prepareHostImage } = await import("../../packages/server/src/engines/root/host-image.ts");
      const host = await prepareHostImage(home);
      const image = { ...host, entries: [...host.entries, { kind: "bind" as const, path: "/shared", source }] };
      await using engine = await openEngine(name, home, { image });
      using puppet = new Puppet(await engine.create({ limits }));
      expect(await puppet.run(`os.listdir("/shared/below")`)).toEqual([]);
      await expect(puppet.run(`open("/shared/below/x", "w")`)).rejects.toThrow(/Error/);
    } finally {
      execFileSync("/usr/bin/umount", [join(source, "below")]);
    }
  });
});
