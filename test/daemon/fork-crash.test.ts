import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { keysNamespace } from "../../packages/server/src/vault/own-keys.ts";
import { seed, soak } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { caisson, Up, upTimeoutMs } from "./up.ts";

const path = "/api/v1/sandboxes";
const kills = soak ? 40 : 2;

interface Verb {
  engine: EngineName;
  /** Before each kill. */
  prepare?: (up: Up, id: string) => Promise<void>;
  act: (up: Up, id: string) => Promise<unknown>;
}

const post = async (up: Up, at: string, body: object) => {
  const answer = await up.fetch(at, body);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status}: ${text}`);
  return JSON.parse(text);
};

/** In its memory alone, so that the copies of its files are made while it goes on. */
const beBusy = async (up: Up, id: string) => {
  await post(up, `${path}/${id}/exec`, { command: "echo here >/tmp/here" });
};

const verbs: Record<string, Verb> = {
  "with its memory": {
    engine: "gvisor",
    act: (up, id) => post(up, `${path}/${id}/fork`, { count: 2, memory: "required" }),
  },
  "in a checkpoint, that others go on from, and that is deleted": {
    engine: "gvisor",
    act: async (up, id) => {
      const { id: checkpoint } = await post(up, `${path}/${id}/checkpoints`, {});
      await post(up, `/api/v1/checkpoints/${checkpoint}/restore`, {});
      await up.delete(`/api/v1/checkpoints/${checkpoint}`);
    },
  },
  "its files": {
    engine: "container",
    act: (up, id) => post(up, `${path}/${id}/fork`, { count: 2, memory: "never" }),
  },
  "its files, while it is busy": {
    engine: "container",
    prepare: beBusy,
    act: (up, id) => post(up, `${path}/${id}/fork`, { count: 2, memory: "never" }),
  },
};

function random(state: number): () => number {
  let value = state;
  return () => {
    value = (Math.imul(value, 1_664_525) + 1_013_904_223) >>> 0;
    return value / 2 ** 32;
  };
}

async function listed(up: Up, at: string): Promise<string[]> {
  const answer = await up.fetch(at);
  return ((await answer.json()) as { id: string }[]).map(({ id }) => id);
}

/** Those that seal checkpoints. */
function keysIn(home: string): unknown[] {
  using database = new DatabaseSync(join(home, "daemon/caisson.db"), { readOnly: true });
  return database.prepare("select name from secrets where namespace = ?").all(keysNamespace);
}

const namesIn = (folder: string) => readdir(folder).catch(() => []);

/** What lies in the data folder that nothing which is listed needs. */
async function strays(up: Up): Promise<string[]> {
  const sandboxes = new Set(await listed(up, `${path}?limit=1000`));
  const checkpoints = new Set(await listed(up, "/api/v1/checkpoints"));
  const needed = new Set<string>();
  const take = async (file: string, ids: (record: { layers?: object; below?: string[] }) => unknown[]) => {
    const record = JSON.parse(await readFile(file, "utf8").catch(() => "{}"));
    for (const id of ids(record)) needed.add(String(id));
  };
  const at = (...names: string[]) => join(up.home, ...names);
  for (const id of sandboxes)
    await take(at("engine/sandboxes", id, "record.json"), (r) => Object.values(r.layers ?? {}));
  for (const id of checkpoints)
    await take(at("engine/checkpoints", id, "checkpoint.json"), (r) => Object.values(r.layers ?? {}));
  for (const id of [...needed]) await take(at("engine/layers", id, "layer.json"), (r) => r.below ?? []);
  const extra = async (folder: string, known: ReadonlySet<string>) =>
    (await namesIn(at(folder)))
      .filter((name) => !known.has(name) && name !== "mounted")
      .map((name) => `${folder}/${name}`);
  return [
    ...(await extra("engine/sandboxes", sandboxes)),
    ...(await extra("engine/checkpoints", checkpoints)),
    ...(await extra("daemon/checkpoints", checkpoints)),
    ...(await extra("engine/layers", needed)),
    ...findLeaks(up.home).filter(
      (leak) => leak.startsWith("cgroup") && ![...sandboxes].some((id) => leak.includes(id)),
    ),
  ];
}

describe("[SBX-16] [LIF-08] a daemon, and an engine, that is killed while a sandbox is copied or saved", () => {
  let up: Up;
  beforeAll(async () => {
    up = await Up.start();
  }, upTimeoutMs);
  afterAll(() => up?.[Symbol.asyncDispose](), upTimeoutMs);

  const remove = async (but: readonly string[]) => {
    for (const id of await listed(up, "/api/v1/checkpoints")) await up.delete(`/api/v1/checkpoints/${id}`);
    for (const id of await listed(up, `${path}?limit=1000`))
      if (!but.includes(id)) expect([204, 404]).toContain(await up.delete(`${path}/${id}`));
  };
  const noStrays = (when: string) =>
    vi.waitFor(async () => expect([when, ...(await strays(up))]).toEqual([when]), { timeout: 90_000, interval: 200 });

  it.each(Object.entries(verbs))(
    "leaves it with its files, and nothing of what was half made (%s)",
    async (name, { engine, prepare, act }) => {
      const id = await up.create(engine);
      await up.exec(id, "echo word >kept; sync");
      await prepare?.(up, id);
      const startMs = performance.now();
      await act(up, id);
      const wholeMs = performance.now() - startMs;
      const next = random(seed + name.length);
      for (let kill = 0; kill < kills; kill++) {
        await remove([id]);
        await prepare?.(up, id);
        const status = await up.status();
        const { pid } = status[kill % 2 === 0 ? "daemon" : "engine"] ?? {};
        if (pid === undefined) throw new Error("it does not run");
        const under = act(up, id).catch(() => undefined);
        await sleep(next() * wholeMs); // the moment is what is tried: any will do
        process.kill(pid, "SIGKILL");
        await under;
        await up.waitForRestart(status);
        expect([kill, await up.exec(id, "cat kept; uname -n")]).toEqual([kill, `word\n${id.slice(0, 12)}\n`]);
        await noStrays(`after kill ${kill}`);
      }
      await remove([]);
      await noStrays("at the end");
    },
    upTimeoutMs,
  );

  it("has no key left of what is gone, and a log that is whole", async () => {
    expect(await post(up, "/api/v1/audit/verify", {})).toMatchObject({ ok: true, problems: [] });
    await up.stop();
    expect(keysIn(up.home)).toEqual([]);
    expect(await caisson(["audit", "verify"], up.variables)).toMatchObject({ code: 0 });
  });
});
