import { describe, expect, it } from "vitest";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import type { ServerConfig, ServerRecord, ServerVersion } from "../core/server.ts";
import type { ServerBook } from "./server-book.ts";
import type { ServerRuntime } from "./server-runtime.ts";
import type { ServerSandboxes } from "./server-sandboxes.ts";
import { takeOver } from "./take-over.ts";

const server = { id: "s", name: "made", namespace: "default" } as ServerRecord;
const version = { serverId: "s", number: 2, state: "checking", held: false } as ServerVersion;
const before = { serverId: "s", number: 1, dataSnapshotId: null } as ServerVersion;
const caller = { principal: { id: "key" } } as Caller;

/** A take-over whose steps fail where their names are listed; resolves with what was done. */
async function takeOverThatFailsAt(...failing: string[]): Promise<{ seen: string[]; errors: unknown[] }> {
  const seen: string[] = [];
  const errors: unknown[] = [];
  const act = async (name: string) => {
    seen.push(name);
    if (failing.includes(name)) throw new AppError("unavailable", name);
    return name;
  };
  const shared = { save: () => act("saved"), restore: (id: string) => act(`restore ${id}`) };
  const runtime = {
    ...{ shared, trial: () => act("trial"), stop: () => act("stop"), settle: () => seen.push("settle") },
    exclusively: (_why: string, work: () => Promise<unknown>) => work(),
  } as unknown as ServerRuntime;
  const book = {
    current: () => before,
    change: (_: string, changes: Partial<ServerRecord>) =>
      act(changes.current !== undefined ? "record" : changes.savedSnapshotId === null ? "unmark" : "mark"),
    changeVersion: () => act("version"),
  } as unknown as ServerBook;
  const sandboxes = { forget: (_: unknown, id: string) => act(`forget ${id}`) } as unknown as ServerSandboxes;
  const given = { runtime, caller, server, version, config: () => ({}) as ServerConfig, restore: null };
  await takeOver({ book, sandboxes, onError: (error) => void errors.push(error) }, given).catch(() =>
    seen.push("threw"),
  );
  return { seen, errors };
}

describe("a version that takes over", () => {
  it("[S123] and cannot be recorded stops, and the data of the one before come back", async () => {
    const { seen } = await takeOverThatFailsAt("record");
    expect(seen).toEqual([
      "saved",
      "mark",
      "trial",
      "record",
      "stop",
      "restore saved",
      "unmark",
      "forget saved",
      "settle",
      "threw",
    ]);
  });

  it("[S123] and fails where the data cannot be put back leaves the snapshot that has them", async () => {
    const { seen, errors } = await takeOverThatFailsAt("trial", "restore saved");
    expect(seen).toEqual(["saved", "mark", "trial", "stop", "restore saved", "settle", "threw"]);
    expect(String(errors[0])).toBe("Error: cannot put back the data of server made: snapshot saved has them");
  });

  it("keeps the data of the one before", async () => {
    expect((await takeOverThatFailsAt()).seen).toEqual([
      "saved",
      "mark",
      "trial",
      "record",
      "settle",
      "version",
      "version",
    ]);
  });
});
