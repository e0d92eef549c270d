import type { News } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import type { ServerConfig, ServerRecord, ServerVersion } from "../core/server.ts";
import type { ServerBook } from "./server-book.ts";
import type { ServerRuntime } from "./server-runtime.ts";
import type { ServerSandboxes } from "./server-sandboxes.ts";

interface TakeOver {
  runtime: ServerRuntime;
  caller: Caller;
  server: ServerRecord;
  version: ServerVersion;
  config: () => ServerConfig;
  /** Snapshot that /data becomes again; null: it stays as it is. */
  restore: string | null;
}

interface TakeOverParts {
  book: ServerBook;
  sandboxes: ServerSandboxes;
  onError: (error: unknown) => void;
}

/**
 * One version at a time writes /data (hazard 11): calls wait, the version before ends, its data are saved, and the next one
 * starts. Where it does not start, the version before goes on with its data of then.
 */
export function takeOver(parts: TakeOverParts, given: TakeOver): Promise<ServerVersion> {
  const { book, onError } = parts;
  const { runtime, caller, server, version, config, restore } = given;
  return runtime.exclusively("another version takes over", async () => {
    const before = book.current(server.id);
    const saved = await runtime.shared?.save(`before version ${version.number}`);
    try {
      if (saved !== undefined) await book.change(server.id, { savedSnapshotId: saved });
      if (restore !== null) await runtime.shared?.restore(restore);
      await runtime.trial(version, config());
      const data = { server_id: server.id, name: server.name, version: version.number, held: version.held };
      const isRollback = version.state === "ready";
      const news: News = { type: "server.deployed", by: caller, data: { ...data, rollback: isRollback } };
      await book.change(server.id, { current: version.number, config: config(), savedSnapshotId: null }, [news]);
    } catch (error) {
      await runtime.stop("the new version did not take over");
      if (saved !== undefined) await putBack(parts, given, saved);
      throw error;
    } finally {
      runtime.settle();
    }
    await keepData(parts, server, before, version, saved).catch(onError);
    return book.changeVersion(version, { state: "ready", step: null, error: null });
  });
}

/** Data that cannot be put back are kept: they are nowhere else. */
async function putBack({ book, sandboxes, onError }: TakeOverParts, given: TakeOver, saved: string): Promise<void> {
  const { runtime, server } = given;
  try {
    await runtime.shared?.restore(saved);
  } catch (cause) {
    const { name } = server;
    return onError(new Error(`cannot put back the data of server ${name}: snapshot ${saved} has them`, { cause }));
  }
  await book.change(server.id, { savedSnapshotId: null });
  await sandboxes.forget(server, saved).catch(onError);
}

/** A daemon that ended in the midst of it leaves data that the version which did not take over may have changed. */
export async function finishTakeOvers({ book, sandboxes, onError }: TakeOverParts): Promise<void> {
  for (const record of book.all()) {
    const { savedSnapshotId: saved } = record;
    if (saved === null) continue;
    try {
      const shared = sandboxes.all().find(({ server, use }) => server.id === record.id && use === "shared");
      if (shared !== undefined) {
        await sandboxes.restore(shared.server, shared.id, saved);
        await sandboxes.stop(shared.server, shared.id);
      }
      await book.change(record.id, { savedSnapshotId: null });
      await sandboxes.forget({ id: record.id, namespace: record.namespace }, saved);
    } catch (cause) {
      onError(new Error(`cannot put back the data of server ${record.name}: snapshot ${saved} has them`, { cause }));
    }
  }
}

/** The snapshot is the former version's data; that of an earlier time is of no use any more. */
async function keepData(
  { book, sandboxes, onError }: TakeOverParts,
  server: ServerRecord,
  before: ServerVersion | undefined,
  next: ServerVersion,
  saved: string | undefined,
): Promise<void> {
  if (saved === undefined) return;
  if (before === undefined || before.number === next.number) return sandboxes.forget(server, saved).catch(onError);
  await book.changeVersion(before, { dataSnapshotId: saved });
  if (before.dataSnapshotId !== null) await sandboxes.forget(server, before.dataSnapshotId).catch(onError);
}
