import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, link, mkdir, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hostLimits } from "../../packages/server/src/host-access/limits.ts";
import { Folder, handWith } from "./hand.ts";

const all = { offset: 0, length: hostLimits.fileBytes };

async function refusal(act: Promise<unknown>): Promise<string> {
  return act.then(
    () => "",
    (error: unknown) => String(error),
  );
}

/** `open` may be read, `open/inbox` written, `closed` neither. */
async function place() {
  const folder = await Folder.make();
  const at = (name: string) => join(folder.path, name);
  await mkdir(at("open/inbox"), { recursive: true });
  await mkdir(at("closed"));
  await writeFile(at("open/plain"), "plain");
  await writeFile(at("closed/secret"), "secret");
  const hand = handWith({
    folders: [
      { path: at("open"), writable: false },
      { path: at("open/inbox"), writable: true },
    ],
  });
  return { at, hand, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

describe("a file of the host", () => {
  it("[HST-03] is read in a folder that is open, and nowhere else", async () => {
    await using here = await place();
    const { hand, at } = here;
    expect((await hand.read(at("open/plain"), all)).bytes.toString()).toBe("plain");
    const outside = "is not in an open folder";
    expect(await refusal(hand.read(at("closed/secret"), all))).toContain(outside);
    expect(await refusal(hand.read(`${at("open")}/../closed/secret`, all))).toContain(outside);
    expect(await refusal(hand.read(`${at("open")}-not/x`, all))).toContain(outside);
    expect(await refusal(hand.read("/etc/hostname", all))).toContain(outside);
    expect(await refusal(hand.read("/proc/self/environ", all))).toContain(outside);
    expect(await refusal(hand.read(`/proc/self/root${at("closed/secret")}`, all))).toContain(outside);
    expect(await refusal(hand.read("open/plain", all))).toContain("is not absolute");
    expect(await refusal(hand.read(at("open/a\0b"), all))).toContain("is not absolute");
    // Whether it exists is not told either.
    expect(await refusal(hand.read(at("closed/none"), all))).toContain(outside);
    expect(await refusal(hand.read(`${at("open")}/../closed/none`, all))).toContain(outside);
    expect(await refusal(hand.read(at("open/none"), all))).toContain("no such file or folder");
  });

  it("[HST-03] is where links lead to", async () => {
    await using here = await place();
    const { hand, at } = here;
    await symlink("plain", at("open/inside"));
    await symlink("../closed/secret", at("open/outside"));
    await symlink("../closed", at("open/way"));
    await symlink("open", at("entry"));
    expect((await hand.read(at("open/inside"), all)).bytes.toString()).toBe("plain");
    expect((await hand.read(at("entry/plain"), all)).bytes.toString()).toBe("plain");
    expect(await refusal(hand.read(at("open/outside"), all))).toContain("is not in an open folder");
    expect(await refusal(hand.read(at("open/way/secret"), all))).toContain("is not in an open folder");
    expect(await refusal(hand.list(at("open/way")))).toContain("is not in an open folder");
  });

  it("[HST-03] is the one that was checked, while its name is swapped again and again", async () => {
    await using here = await place();
    const { hand, at } = here;
    await mkdir(at("open/real"));
    await writeFile(at("open/real/secret"), "decoy");
    await symlink("real", at("open/now"));
    let swapping = true;
    const swap = (async () => {
      for (let turn = 0; swapping; turn++) {
        await symlink(turn % 2 === 0 ? "real" : "../closed", at("open/next"));
        await rename(at("open/next"), at("open/now"));
      }
    })();
    const seen = new Set<string>();
    for (let turn = 0; turn < 500 || seen.size < 2; turn++) {
      const got = await hand.read(at("open/now/secret"), all).then(
        ({ bytes }) => bytes.toString(),
        (error: unknown) => (String(error).includes("is not in an open folder") ? "refused" : String(error)),
      );
      seen.add(got);
    }
    swapping = false;
    await swap;
    expect([...seen].sort()).toEqual(["decoy", "refused"]);
  });

  it("[HST-03] is a plain one: no device, FIFO, socket or folder", async () => {
    await using here = await place();
    const { hand, at } = here;
    execFileSync("mkfifo", [at("open/fifo")]);
    const server = createServer().listen(at("open/socket"));
    for (const name of ["fifo", "socket", "inbox"])
      expect(await refusal(hand.read(at(`open/${name}`), all))).toContain("not a regular file");
    server.close();
    const devices = handWith({ folders: [{ path: "/dev", writable: false }] });
    expect(await refusal(devices.read("/dev/zero", all))).toContain("not a regular file");
  });

  it("[HST-03] is in no place of credentials, however wide the folder", async () => {
    await using here = await place();
    const { hand, at } = here;
    await mkdir(at("open/inbox/.ssh"));
    await writeFile(at("open/inbox/.ssh/id"), "key");
    await symlink(".ssh/id", at("open/inbox/link"));
    for (const path of ["open/inbox/.ssh/id", "open/inbox/link"])
      expect(await refusal(hand.read(at(path), all))).toContain("folder of credentials");
    expect(await refusal(hand.write(at("open/inbox/.ssh/new"), Buffer.from("x")))).toContain("folder of credentials");
    expect(await refusal(hand.list(at("open/inbox/.ssh")))).toContain("folder of credentials");
  });

  it("is read in pieces that tell whether it is still the same", async () => {
    await using here = await place();
    const { hand, at } = here;
    const first = await hand.read(at("open/plain"), { offset: 0, length: 2 });
    const rest = await hand.read(at("open/plain"), { offset: 2, length: 100 });
    expect([first.bytes.toString(), rest.bytes.toString(), first.sizeBytes]).toEqual(["pl", "ain", 5]);
    expect(rest.version).toBe(first.version);
    await writeFile(at("open/plain"), "other");
    await rm(at("open/plain"));
    await writeFile(at("open/plain"), "other");
    expect((await hand.read(at("open/plain"), all)).version).not.toBe(first.version);
  });
});

describe("writing a file of the host", () => {
  const bytes = Buffer.from("new");

  it("[HST-03] is done in folders that are open for it, and nowhere else", async () => {
    await using here = await place();
    const { hand, at } = here;
    expect(await hand.write(at("open/inbox/a"), bytes)).toEqual({ created: true });
    expect(await hand.write(at("open/inbox/a"), Buffer.from("newer"))).toEqual({ created: false });
    expect(await readFile(at("open/inbox/a"), "utf8")).toBe("newer");
    expect(await refusal(hand.write(at("open/b"), bytes))).toContain("is in a read-only folder");
    expect(await refusal(hand.write(at("closed/b"), bytes))).toContain("is not in an open folder");
    expect(await refusal(hand.write(`${at("open/inbox")}/../../closed/b`, bytes))).toContain(
      "is not in an open folder",
    );
    expect(await refusal(hand.write(at("open/inbox/none/b"), bytes))).toContain("no such file or folder");
    for (const name of ["", ".", ".."])
      expect(await refusal(hand.write(`${at("open/inbox")}/${name}`, bytes))).toContain("is not the path of a file");
    expect(await readdir(at("open/inbox"))).toEqual(["a"]);
    expect(await readdir(at("closed"))).toEqual(["secret"]);
  });

  it("[HST-03] goes through no link", async () => {
    await using here = await place();
    const { hand, at } = here;
    await symlink("../../closed/secret", at("open/inbox/file"));
    await symlink("../../closed", at("open/inbox/way"));
    await symlink(at("closed/made"), at("open/inbox/dangling"));
    expect(await refusal(hand.write(at("open/inbox/file"), bytes))).toContain("not a regular file");
    expect(await refusal(hand.write(at("open/inbox/dangling"), bytes))).toContain("not a regular file");
    expect(await refusal(hand.write(at("open/inbox/way/secret"), bytes))).toContain("is not in an open folder");
    expect(await readFile(at("closed/secret"), "utf8")).toBe("secret");
    expect(existsSync(at("closed/made"))).toBe(false);
  });

  it("[HST-03] leaves the other names of a file as they are, and its mode", async () => {
    await using here = await place();
    const { hand, at } = here;
    await link(at("closed/secret"), at("open/inbox/shared"));
    await chmod(at("closed/secret"), 0o640);
    await hand.write(at("open/inbox/shared"), bytes);
    expect(await readFile(at("closed/secret"), "utf8")).toBe("secret");
    expect(await readFile(at("open/inbox/shared"), "utf8")).toBe("new");
    expect((await stat(at("open/inbox/shared"))).mode & 0o777).toBe(0o640);
    expect(await refusal(hand.write(at("open/inbox"), bytes))).toContain("is in a read-only folder");
  });

  it("is bounded", async () => {
    await using here = await place();
    const much = Buffer.alloc(hostLimits.fileBytes + 1);
    expect(await refusal(here.hand.write(here.at("open/inbox/a"), much))).toContain("too large");
    expect(await here.hand.write(here.at("open/inbox/a"), much.subarray(1))).toEqual({ created: true });
  });
});

describe("a folder of the host", () => {
  it("[HST-03] is listed with what is in it, links as links", async () => {
    await using here = await place();
    const { hand, at } = here;
    await symlink("../closed/secret", at("open/link"));
    const { entries, truncated } = await hand.list(at("open"));
    expect(entries.map(({ name, type }) => [name, type])).toEqual([
      ["inbox", "folder"],
      ["link", "link"],
      ["plain", "file"],
    ]);
    expect(truncated).toBe(false);
    expect(await refusal(hand.list(at("open/plain")))).toContain("is not a folder");
    expect(await refusal(hand.list(at("closed")))).toContain("is not in an open folder");
  });

  it("is listed whatever times its files have", async () => {
    await using here = await place();
    const { hand, at } = here;
    const times = { early: new Date("1930-01-01"), late: new Date("9999-12-31T23:59:59.999Z") };
    for (const [name, time] of Object.entries(times)) {
      await writeFile(at(`open/inbox/${name}`), "");
      await utimes(at(`open/inbox/${name}`), time, time);
    }
    const { entries } = await hand.list(at("open/inbox"));
    expect(entries.map(({ modified_at }) => modified_at.slice(0, 4))).toEqual([
      "1970",
      expect.stringMatching(/^\d{4}$/),
    ]);
  });

  it("is listed up to a limit", async () => {
    await using here = await place();
    const { hand, at } = here;
    for (let number = 0; number <= hostLimits.entries; number++) await writeFile(at(`open/inbox/${number}`), "");
    const { entries, truncated } = await hand.list(at("open/inbox"));
    expect([entries.length, truncated]).toEqual([hostLimits.entries, true]);
  });
});
