import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TarMember, tarEnd, tarHeader, tarPadding } from "../../tar/tar-writer.ts";
import { FolderWriter } from "../folder-writer.ts";
import { cliLimits } from "../limits.ts";
import { unpackInto } from "./bring.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "caisson-bring-"));
  await mkdir(join(folder, "out"));
  await mkdir(join(folder, "victim"));
});
afterEach(() => rm(folder, { recursive: true }));

const evil = Buffer.from("evil");
const file = (path: string, more: Partial<TarMember> = {}): Buffer[] => [
  tarHeader({ type: "file", path, mode: 0o644, size: evil.length, ...more }),
  evil,
  tarPadding(evil.length),
];

/** What a taken-over guest could send; an honest one cannot. */
async function unpack(
  parts: readonly Buffer[],
  { bytes = 1000, names = 100, end = tarEnd } = {},
): Promise<readonly string[]> {
  const writer = new FolderWriter(join(folder, "out"), bytes, names);
  async function* archive() {
    yield Buffer.concat([...parts, end]);
  }
  await unpackInto(writer, archive(), { file: () => undefined, bytes: () => undefined });
  return writer.leftOut;
}
const refusal = (...given: Parameters<typeof unpack>) => unpack(...given).catch((error: unknown) => error);
const code = (letter: string, parts: Buffer[]) => {
  const [header = Buffer.alloc(0), ...rest] = parts;
  header[156] = letter.charCodeAt(0);
  header.write(" ".repeat(8), 148, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return [header, ...rest];
};

describe("an archive that comes out of a sandbox", () => {
  it("becomes plain files and folders, with the mode of a program or of none", async () => {
    const parts = [
      tarHeader({ type: "directory", path: "empty", mode: 0o700 }),
      ...file("deep/er/file", { mode: 0o777 }),
    ];
    expect(await unpack([...parts, ...file("plain", { mode: 0o600 })])).toEqual([]);
    expect(await readFile(join(folder, "out/deep/er/file"), "utf8")).toBe("evil");
    const mode = async (name: string) => (await lstat(join(folder, "out", name))).mode & 0o7777;
    const masked = (wanted: number) => wanted & ~process.umask();
    expect(await mode("deep/er/file")).toBe(masked(0o755));
    expect(await mode("plain")).toBe(masked(0o644));
    expect(await readdir(join(folder, "out/empty"))).toEqual([]);
  });

  it.each(["../victim/x", "/etc/x", "a/../../victim/x"])("is refused for the name %s", async (name) => {
    expect(await refusal(file(name))).toMatchObject({ code: "invalid" });
    expect([await readdir(join(folder, "out")), await readdir(join(folder, "victim"))]).toEqual([[], []]);
  });

  it.each([
    ["a device", code("3", [tarHeader({ type: "file", path: "sda" })]), "is a device"],
    ["a FIFO", code("6", [tarHeader({ type: "file", path: "pipe" })]), "is a FIFO"],
    ["a set-uid program", file("su", { mode: 0o4755 }), "is set-uid"],
    ["an unknown kind", code("R", [tarHeader({ type: "file", path: "x" })]), "unknown kind"],
  ])("is refused for %s", async (_, parts, why) => {
    expect(await refusal(parts)).toMatchObject({ code: "invalid", message: expect.stringContaining(why) });
    expect(await readdir(join(folder, "out"))).toEqual([]);
  });

  it("makes no link, and nothing leads through one that it names", async () => {
    const link = tarHeader({ type: "link", path: "a", target: "../victim" });
    const hard = tarHeader({ type: "hard-link", path: "b", target: "a/x" });
    expect(await unpack([link, hard, ...file("a/x")])).toEqual([
      "a: it is a link, not a file",
      "b: it is a hard-link, not a file",
    ]);
    expect(await readdir(join(folder, "victim"))).toEqual([]);
    expect((await lstat(join(folder, "out/a"))).isDirectory()).toBe(true);
  });

  it("is not written through a link that stands in the way, and replaces one that has a file's name", async () => {
    await symlink("../victim", join(folder, "out/a"));
    expect(await refusal(file("a/pwned"))).toMatchObject({ code: "conflict" });
    await rm(join(folder, "out/a"));
    await symlink("../victim/x", join(folder, "out/a"));
    await unpack(file("a"));
    expect((await lstat(join(folder, "out/a"))).isFile()).toBe(true);
    expect(await readdir(join(folder, "victim"))).toEqual([]);
  });

  it("leaves out names that are no text", async () => {
    expect(await unpack(file("bad\xff"))).toEqual(["bad\ufffd: its name is not valid text"]);
    expect(await readdir(join(folder, "out"))).toEqual([]);
  });

  it("is no more than the workspace could hold, in bytes and in names", async () => {
    const three = ["a", "b", "c"].flatMap((name) => file(name));
    expect(await refusal(three, { bytes: 10 })).toMatchObject({ code: "limit_exceeded" });
    expect((await readdir(join(folder, "out"))).sort()).toEqual(["a", "b"]);
    expect(await refusal(file("1/2/3/4"), { names: 3 })).toMatchObject({ code: "limit_exceeded" });
    expect(await refusal(three, { names: 2 })).toMatchObject({ code: "limit_exceeded" });
  });

  it("has no names without end, whatever is named, and whether it is taken or not", async () => {
    const thrice = (part: Buffer) => [part, part, part];
    const link = (path: string) => tarHeader({ type: "link", path, target: "x" });
    for (const parts of [
      thrice(link("a")),
      thrice(tarHeader({ type: "directory", path: "again" })),
      thrice(tarHeader({ type: "directory", path: "." })),
      ["b\xff", "c\xff", "d\xff"].flatMap((name) => file(name)),
    ]) {
      expect(await refusal(parts, { names: 2 })).toMatchObject({ code: "limit_exceeded" });
      expect(await refusal(parts, { names: 3 })).toBeInstanceOf(Array);
    }
    const many = Array.from({ length: cliLimits.namesTold + 7 }, (_, n) => link(`l${n}`));
    const told = await unpack(many, { names: many.length });
    expect([told.length, told.at(-2), told.at(-1)]).toEqual([1_001, "l999: it is a link, not a file", "7 more"]);
  });

  it("with a name that was written over says after which, and what that may mean", async () => {
    const [header = Buffer.alloc(0), ...rest] = file("holds-a-value");
    header.write("*****", 0);
    expect(await refusal([...file("before"), header, ...rest])).toMatchObject({
      code: "invalid",
      message: "cannot read the archive of the folder after 'before': wrong checksum",
      hint: expect.stringContaining("a file name may contain the value of a secret"),
    });
    expect(await refusal([header, ...rest])).toMatchObject({ message: expect.stringContaining("at its start: ") });
  });

  it("that is cut short is an error, and leaves no part of a file", async () => {
    const [header = Buffer.alloc(0)] = file("a", { size: 100 });
    const cut = [header, evil];
    expect(await refusal(cut, { end: Buffer.alloc(0) })).toMatchObject({
      message: expect.stringContaining("cut short"),
    });
    expect(await readdir(join(folder, "out"))).toEqual([]);
  });
});
