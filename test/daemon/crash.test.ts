import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { AuditRow } from "../../packages/server/src/core/audit.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { readAuditKey } from "../../packages/server/src/store/audit/row-mac.ts";
import { verifyFile } from "../../packages/server/src/store/audit/verify-file.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { engines, soak } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { databaseFiles } from "../store/entries.ts";
import { caisson, Up } from "./up.ts";

const size = soak ? { calls: 1_000, sandboxes: 50, atOnce: 32 } : { calls: 120, sandboxes: 8, atOnce: 8 };
const tried: readonly EngineName[] = soak ? engines : ["container"];

interface Done {
  marker: string;
  sandbox: string;
  requestId: string;
}

/** Whether a request failed for want of somebody to answer it. */
const isAway = (error: unknown) => error instanceof TypeError;

/** A request that is made again until somebody answers, as a client that knows of restarts would. */
async function insist(ask: () => Promise<Response>): Promise<{ response: Response; text: string }> {
  for (;;) {
    try {
      const response = await ask();
      const text = await response.text();
      if (response.status !== 503 && response.status !== 429) return { response, text };
    } catch (error) {
      if (!isAway(error)) throw error;
    }
    await sleep(20);
  }
}

class Load {
  readonly done: Done[] = [];
  readonly sandboxes: string[] = [];
  #up: Up;
  #next = 0;

  constructor(up: Up) {
    this.#up = up;
  }

  /** Its successor has another address. */
  set up(up: Up) {
    this.#up = up;
  }

  async createAll(engine: EngineName): Promise<void> {
    while (this.sandboxes.length < size.sandboxes) this.sandboxes.push(await this.#up.create(engine));
  }

  /** Calls so many more, each with a marker of its own that is left in its sandbox. */
  async run(calls: number): Promise<void> {
    const last = this.#next + calls;
    const worker = async () => {
      while (this.#next < last) await this.#call(this.#next++);
    };
    await Promise.all(Array.from({ length: size.atOnce }, worker));
  }

  async #call(number: number): Promise<void> {
    const sandbox = this.sandboxes[number % this.sandboxes.length] ?? "";
    const marker = `marker-${number}`;
    const path = `/api/v1/sandboxes/${sandbox}/exec`;
    const { response, text } = await insist(() => this.#up.fetch(path, { command: `echo ${marker} >> markers` }));
    if (response.status !== 200) throw new Error(`${marker}: ${response.status} ${text}`);
    expect(JSON.parse(text)).toMatchObject({ exit_code: 0 });
    this.done.push({ marker, sandbox, requestId: response.headers.get("x-request-id") ?? "" });
  }

  /** Creates others meanwhile, and destroys those that it hears of; a daemon may be killed between the two. */
  async churn(engine: EngineName, until: Promise<void>): Promise<void> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    until.then(over, over);
    while (!isOver) {
      const id = await this.#up.create(engine).catch(() => undefined);
      if (id !== undefined) await this.#up.delete(`/api/v1/sandboxes/${id}`).catch(() => undefined);
      else await sleep(20);
    }
  }

  /** Destroys what nobody heard of. */
  async removeOthers(): Promise<void> {
    const { text } = await insist(() => this.#up.fetch("/api/v1/sandboxes?limit=1000"));
    const others = (JSON.parse(text) as { id: string }[]).filter(({ id }) => !this.sandboxes.includes(id));
    for (const { id } of others) expect([204, 404]).toContain(await this.#up.delete(`/api/v1/sandboxes/${id}`));
  }

  async reach(done: number): Promise<void> {
    while (this.done.length < done) await sleep(5);
  }
}

async function allRows(search: (after: number) => Promise<AuditRow[]>): Promise<AuditRow[]> {
  const rows: AuditRow[] = [];
  for (;;) {
    const more = await search(rows.at(-1)?.position ?? 0);
    if (more.length === 0) return rows;
    rows.push(...more);
  }
}

/** What was acknowledged and is in no row. */
function missing(done: readonly Done[], rows: readonly Pick<AuditRow, "type" | "requestId">[]): Done[] {
  const held = new Set(rows.filter(({ type }) => type === "execution.completed").map(({ requestId }) => requestId));
  return done.filter(({ requestId }) => !held.has(requestId));
}

/** A copy of the store's files, one by one, while they are written. */
async function copyStore(home: string, target: string): Promise<void> {
  await mkdir(target);
  for (const name of ["signing-key.pem", "audit-head.json", ...databaseFiles])
    await writeFile(join(target, name), await readFile(join(home, "daemon", name)), { mode: 0o600 });
}

async function checkCopy(folder: string, done: readonly Done[]): Promise<void> {
  const path = join(folder, "caisson.db");
  const keys = [readAuditKey(await readFile(join(folder, "signing-key.pem"), "utf8"))];
  expect((await verifyFile({ path, keys, headNeeded: true })).problems).toEqual([]);
  await using store = await openStore({ path });
  expect(missing(done, await allRows((after) => store.audit.search({ after, limit: 1_000 })))).toEqual([]);
  expect((await store.audit.verify()).problems).toEqual([]);
}

/** The timeline of a running daemon. */
async function rowsOf(up: Up): Promise<{ type: string; requestId: string | null }[]> {
  const text = await (await up.fetch("/api/v1/audit/export")).text();
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line)).map(({ type, request_id }) => ({ type, requestId: request_id }));
}

/** All sandboxes are there and run, and nothing that was done in them is lost. */
async function checkSandboxes(up: Up, { sandboxes, done }: Load): Promise<void> {
  const { text } = await insist(() => up.fetch("/api/v1/sandboxes?limit=1000"));
  const listed = (JSON.parse(text) as { id: string; status: string }[]).map(({ id, status }) => `${id} ${status}`);
  expect(listed.sort()).toEqual(sandboxes.map((id) => `${id} running`).sort());
  for (const id of sandboxes) {
    const markers = new Set((await up.exec(id, "cat markers")).split("\n"));
    expect(done.filter(({ sandbox, marker }) => sandbox === id && !markers.has(marker))).toEqual([]);
  }
}

describe.each(tried)("a daemon that is killed while it works (%s)", (engine) => {
  it(
    "[AUD-01] [SBX-16] holds every run that it acknowledged, and every sandbox",
    async () => {
      const copies = await mkdtemp("/var/tmp/caisson-copies-");
      await using up = await Up.start({ variables: { CAISSON_MAX_CONCURRENT: String(size.sandboxes + 2) } });
      const load = new Load(up);
      await load.createAll(engine);
      const working = load.run(size.calls);
      const churning = load.churn(engine, working);
      const copied: { folder: string; done: Done[] }[] = [];
      const tookMs: number[] = [];
      let status = await up.status();
      for (const kill of [1, 2, 3]) {
        await Promise.race([load.reach(Math.floor((size.calls * kill) / 4)), working]);
        const folder = join(copies, String(kill));
        copied.push({ folder, done: [...load.done] });
        await copyStore(up.home, folder);
        process.kill(status.daemon?.pid ?? 0, "SIGKILL");
        status = await up.waitForRestart(status);
        tookMs.push(Date.now() - Date.parse(status.daemon?.startedAt ?? ""));
      }
      await working;
      await churning;
      await load.removeOthers();
      console.log(`${size.sandboxes} sandboxes found again ${tookMs.join(", ")} ms after a start (${engine})`);
      if (soak) expect(Math.max(...tookMs)).toBeLessThan(20_000);
      expect(load.done.length).toBe(size.calls);
      expect(missing(load.done, await rowsOf(up))).toEqual([]);
      expect(await (await up.fetch("/api/v1/audit/verify", {})).json()).toMatchObject({ ok: true, problems: [] });
      await checkSandboxes(up, load);
      for (const { folder, done } of copied) await checkCopy(folder, done);
      await rm(copies, { recursive: true });

      await load.run(size.atOnce);
      process.kill(status.engine?.pid ?? 0, "SIGKILL");
      status = await up.waitForRestart(status);
      await load.run(size.atOnce);
      await checkSandboxes(up, load);

      const half = load.run(size.atOnce);
      await Promise.race([load.reach(load.done.length + 1), half]);
      up.kill();
      await up.ended;
      await using next = await Up.start({ home: up.home, variables: up.variables });
      load.up = next;
      await half;
      await checkSandboxes(next, load);
      expect(missing(load.done, await rowsOf(next))).toEqual([]);
      for (const id of load.sandboxes) await next.delete(`/api/v1/sandboxes/${id}`);
      await next.stop();
      // What was killed may still be on its way out; what is not would stay.
      await vi.waitFor(() => expect(findLeaks(next.home)).toEqual([]), { timeout: 60_000, interval: 100 });
      expect(await caisson(["audit", "verify"], next.variables)).toMatchObject({ code: 0 });
    },
    soak ? 3_600_000 : 400_000,
  );
});
