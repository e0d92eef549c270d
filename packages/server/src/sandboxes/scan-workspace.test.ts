import { describe, expect, it } from "vitest";
import type { PackSummary, StreamWithSummary } from "../core/archive.ts";
import { type TarMember, tarEnd, tarHeader } from "../tar/tar-writer.ts";
import { scanPacked } from "./scan-workspace.ts";

const summary = { entries: 0, skipped: 0, unreadable: 0, changed: 0 };

/** What a guest that user code has taken over may send. */
function packed(
  members: TarMember[],
  told: PackSummary | undefined = { ...summary, entries: members.length },
  tail = tarEnd,
): StreamWithSummary<Buffer, PackSummary> {
  return {
    summary: told,
    async *[Symbol.asyncIterator]() {
      for (const member of members) yield tarHeader(member);
      yield tail;
    },
  };
}
const scan = (...members: TarMember[]) => scanPacked(packed(members), () => undefined);
const file = (path: string): TarMember => ({ type: "file", path });

describe("a packed workspace", () => {
  it("is taken when it is in order", async () => {
    const { entries } = await scan(
      { type: "directory", path: "a" },
      file("a/b"),
      file("a b"),
      { type: "hard-link", path: "c", target: "a/b" },
      { type: "link", path: "l", target: "/etc/passwd" },
    );
    expect(entries.map(({ path }) => path)).toEqual(["a", "a/b", "a b", "c", "l"]);
  });

  it.each([
    ["has a name twice", [file("a"), file("a")]],
    ["is out of order", [file("b"), file("a")]],
    ["has a hard link to nothing", [{ type: "hard-link", path: "b", target: "a" }]],
    [
      "has a hard link to a folder",
      [
        { type: "directory", path: "a" },
        { type: "hard-link", path: "b", target: "a" },
      ],
    ],
    ["has a hard link to a later file", [{ type: "hard-link", path: "a", target: "b" }, file("b")]],
    ["has a hard link to itself", [{ type: "hard-link", path: "a", target: "a" }]],
  ] as [string, TarMember[]][])("cannot be one that %s", async (_what, members) => {
    await expect(scan(...members)).rejects.toMatchObject({ code: "unavailable", message: /cannot be/ });
  });

  it.each([
    ["leads out", [file("../x")]],
    ["is absolute", [file("/etc/passwd")]],
    ["is of no known kind", [{ type: "removal", path: "x" }]],
  ] as [string, TarMember[]][])("is refused with a name that %s", async (_what, members) => {
    await expect(scan(...members)).rejects.toMatchObject({ code: "invalid" });
  });

  it("is refused when it is cut short, or says nothing of itself at its end", async () => {
    await expect(scanPacked(packed([file("a")], summary, Buffer.alloc(512)), () => undefined)).rejects.toThrow(/cut/);
    const silent = { ...packed([file("a")]), summary: undefined };
    await expect(scanPacked(silent, () => undefined)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("[S90] is refused where it holds fewer names than were packed", async () => {
    const missing = packed([file("a")], { ...summary, entries: 2 });
    await expect(scanPacked(missing, () => undefined)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("is refused past the number of names and bytes that a snapshot may have", async () => {
    async function* endless(): AsyncGenerator<Buffer> {
      for (let at = 0; ; at++) yield tarHeader(file(String(at).padStart(9, "0")));
    }
    const many = { summary, [Symbol.asyncIterator]: endless };
    const limits = { entries: 100, bytes: 2 ** 39 };
    await expect(scanPacked(many, () => undefined, limits)).rejects.toMatchObject({ code: "limit_exceeded" });
    const large = packed([{ ...file("a"), size: 2 ** 40 }]);
    await expect(scanPacked(large, () => undefined, limits)).rejects.toMatchObject({ code: "limit_exceeded" });
  });
});
