import { mkdtemp, readdir, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ChannelLog } from "./channel-log.ts";
import { processLimits } from "./limits.ts";

async function makeFolder() {
  const path = await mkdtemp(join(tmpdir(), "caisson-log-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** A log that is followed from an offset on, with what it told to be stored. */
function follow(log: ChannelLog, acknowledged = 0) {
  const told = { stored: 0, failures: 0 };
  log.follow(
    acknowledged,
    (bytes) => {
      told.stored += bytes;
    },
    () => {
      told.failures++;
    },
  );
  return told;
}

async function text(log: ChannelLog, offset = 0): Promise<string> {
  await log.finish();
  const pieces: Buffer[] = [];
  for await (const { data } of log.pieces(offset)) pieces.push(data);
  return Buffer.concat(pieces).toString();
}

const nothingHidden = {
  stream: () => ({
    push: (chunk: Buffer) => [chunk],
    heldBytes: 0,
    receivedBytes: 0,
    release: () => [],
    end: () => [],
  }),
};

describe("the log of a channel", () => {
  it("gives back what was written, from any offset", async () => {
    await using folder = await makeFolder();
    const log = ChannelLog.create(folder.path, "stdout", nothingHidden);
    const told = follow(log);
    for (const word of ["one ", "two ", "three"]) log.append(Buffer.from(word));
    expect(await text(log)).toBe("one two three");
    expect(await text(log, 4)).toBe("two three");
    expect(told).toEqual({ stored: 13, failures: 0 });
  });

  it("[SBX-16] drops what comes again because it was stored and not acknowledged", async () => {
    await using folder = await makeFolder();
    const first = ChannelLog.create(folder.path, "stdout", nothingHidden);
    follow(first);
    first.append(Buffer.from("0123456789"));
    await first.close();
    const second = await ChannelLog.load(folder.path, "stdout", nothingHidden);
    const told = follow(second, 4);
    second.append(Buffer.from("456"));
    second.append(Buffer.from("789abc"));
    expect(await text(second)).toBe("0123456789abc");
    expect(told.stored).toBe(9);
  });

  it("goes on where a write was cut short", async () => {
    await using folder = await makeFolder();
    const first = ChannelLog.create(folder.path, "stderr", nothingHidden);
    follow(first);
    first.append(Buffer.from("0123456789"));
    await first.close();
    await truncate(join(folder.path, "stderr.0"), 7);
    const second = await ChannelLog.load(folder.path, "stderr", nothingHidden);
    follow(second, 0);
    second.append(Buffer.from("0123456789"));
    expect(await text(second)).toBe("0123456789");
  });

  it("shows a gap in its offsets when a guest acknowledges what it never sent", async () => {
    await using folder = await makeFolder();
    const log = ChannelLog.create(folder.path, "stdout", nothingHidden);
    follow(log);
    log.append(Buffer.from("ab"));
    await log.settle();
    follow(log, 100);
    log.append(Buffer.from("cd"));
    await log.settle();
    expect(await log.read(2, 10)).toEqual({ offset: 100, data: Buffer.from("cd") });
    expect(log.to).toBe(102);
    await log.close();
  });

  it("keeps the newest bytes within its limit, and says from where on", async () => {
    await using folder = await makeFolder();
    const log = ChannelLog.create(folder.path, "stdout", nothingHidden);
    follow(log);
    const total = 2 * processLimits.logBytes + 12_345;
    for (let at = 0; at < total; at += 65_536) log.append(Buffer.alloc(Math.min(65_536, total - at), at >> 16));
    await log.settle();
    const sizes = (await readdir(folder.path)).map(async (name) => (await stat(join(folder.path, name))).size);
    expect((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(processLimits.logBytes);
    expect(log.to).toBe(total);
    expect(log.from).toBeGreaterThanOrEqual(total - processLimits.logBytes);
    const piece = await log.read(0, 10);
    expect(piece.offset).toBe(log.from);
    expect(piece.data[0]).toBe((log.from >> 16) & 255);
    await log.close();
  });

  it("tells nobody that something is stored which is not, and takes no more after it", async () => {
    await using folder = await makeFolder();
    const log = ChannelLog.create(join(folder.path, "missing"), "stdout", nothingHidden);
    const told = follow(log);
    log.append(Buffer.from("ab"));
    await log.settle();
    log.append(Buffer.from("cd"));
    await log.settle();
    expect(told).toEqual({ stored: 0, failures: 1 });
  });

  it("wakes a reader that waits, and ends it with the process", async () => {
    await using folder = await makeFolder();
    const log = ChannelLog.create(folder.path, "stdout", nothingHidden);
    follow(log);
    const read = (async () => {
      const seen: string[] = [];
      for await (const { data } of log.pieces(0)) seen.push(data.toString());
      return seen.join("");
    })();
    log.append(Buffer.from("first "));
    await log.settle();
    log.append(Buffer.from("second"));
    await log.finish();
    expect(await read).toBe("first second");
  });
});
