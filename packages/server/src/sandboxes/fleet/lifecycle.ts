import type { Command } from "../../core/command.ts";
import { AppError, messageOf } from "../../core/errors.ts";
import type { LayerId, LayerInfo } from "../../core/layer.ts";
import { checkTransition } from "../../core/lifecycle.ts";
import { hidePaths } from "../../lib/hide-paths.ts";
import { isBusy } from "../lent-files.ts";
import type { Sandbox } from "../sandbox.ts";
import { runWarmUp } from "../warm-up.ts";
import { type Actor, about } from "./book.ts";
import { copyOutput, type HarvestParts, keepArtifacts } from "./harvest.ts";
import type { SandboxMaker } from "./maker.ts";
import { type Member, rootOf } from "./member.ts";
import type { Provisioner } from "./provisioner.ts";
import type { Removals } from "./removals.ts";
import type { Slots } from "./slots.ts";
import { refusalOf, whyNotLent } from "./why-not-lent.ts";

export interface LifecycleParts extends HarvestParts {
  maker: SandboxMaker;
  removals: Removals;
  provisioner: Provisioner;
  /** Boundaries that are made at the same time. */
  starts: Slots;
  /** What a new sandbox of that template runs; null for one that is gone. Refused where the policy has become stricter. */
  warmUpOf: (templateId: string) => Command | null;
}

/** What can happen to a member. Each transition waits for its turn, and is done when store and log have it. */
export class Lifecycle {
  readonly #parts: LifecycleParts;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** The handle is the member's, until the sandbox is lost or left. */
  hold(member: Member, sandbox: Sandbox): void {
    member.sandbox = sandbox;
    void sandbox.lost.then((reason) => this.#lose(member, sandbox, reason)).catch(this.#parts.onError);
  }

  /** Running, started or resumed if need be. Whoever asks while it starts gets the same start. */
  async running(member: Member, actor: Actor): Promise<Sandbox> {
    return member.ready ?? member.turn.take(() => this.#running(member, actor));
  }

  async #running(member: Member, actor: Actor, warmUp: Command | null = null): Promise<Sandbox> {
    member.checkThere();
    const { status, id, limits } = member.record;
    const { maker, book, starts } = this.#parts;
    if (status === "running" && member.sandbox !== undefined) return member.sandbox;
    if (status === "paused" && member.sandbox !== undefined) {
      await this.#resume(member, member.sandbox, actor);
      return member.sandbox;
    }
    if (status === "creating") throw new AppError("conflict", `sandbox ${id} is being created`);
    if (status === "failed") await maker.stopSandbox(id); // it may hang and not have ended
    const sandbox = await starts.with(() => maker.startSandbox(id, { limits, ...rootOf(member.record) }));
    await this.#took(member, sandbox, actor, warmUp);
    await member.become(book, "running", actor);
    return sandbox;
  }

  /** Bindings may have changed while it stood still. */
  async #resume(member: Member, sandbox: Sandbox, actor: Actor): Promise<void> {
    await sandbox.resume();
    await member.become(this.#parts.book, "running", actor);
    await this.#parts.provisioner.refresh(actor, sandbox, member.record);
  }

  async #took(member: Member, sandbox: Sandbox, actor: Actor, warmUp: Command | null): Promise<void> {
    try {
      sandbox.setEnvironment(member.record.env);
      if (warmUp !== null) await runWarmUp(sandbox, warmUp);
      await this.#parts.provisioner.provision(actor, sandbox, member.record);
    } catch (error) {
      await sandbox.stop().catch(this.#parts.onError);
      throw error;
    }
    this.hold(member, sandbox);
  }

  /** Sees to it that one that runs has the secrets that are bound to it now. */
  refresh(member: Member): Promise<void> {
    return member.turn.take(async () => {
      const { sandbox, record } = member;
      if (sandbox !== undefined && !sandbox.paused) await this.#parts.provisioner.refresh(undefined, sandbox, record);
    });
  }

  /** Of one that nobody asked to stop it says why; `unless` is asked when its turn has come. */
  stop(member: Member, actor: Actor, { why, unless }: { why?: string; unless?: () => boolean } = {}): Promise<void> {
    return member.turn.take(async () => {
      member.checkThere();
      if (member.record.status === "stopped" || unless?.() === true) return;
      checkTransition(member.record.id, member.record.status, "stopped");
      await this.#end(member, actor, async (sandbox) => sandbox?.stop());
      await member.become(this.#parts.book, "stopped", actor, why ?? null);
    });
  }

  /** Whatever comes of it the handle is gone, and what is left can be started again. */
  async #end(member: Member, actor: Actor, end: (sandbox: Sandbox | undefined) => Promise<void>): Promise<void> {
    const { sandbox } = member;
    if (sandbox !== undefined) await copyOutput(this.#parts, member.record, sandbox, actor);
    member.sandbox = undefined; // its end is no loss
    try {
      await end(sandbox);
    } catch (error) {
      const reason = hidePaths(messageOf(error));
      if (member.record.status !== "failed" && member.record.status !== "stopped")
        await member.become(this.#parts.book, "failed", undefined, reason);
      throw error;
    }
  }

  pause(member: Member, actor: Actor): Promise<void> {
    return member.turn.take(async () => {
      member.checkThere();
      if (member.record.status === "paused") return;
      checkTransition(member.record.id, member.record.status, "paused");
      const sandbox = handleOf(member);
      await sandbox.pause();
      await member.become(this.#parts.book, "paused", actor);
    });
  }

  resume(member: Member, actor: Actor): Promise<void> {
    return member.turn.take(async () => {
      member.checkThere();
      if (member.record.status === "running") return;
      if (member.record.status !== "paused") throw notPaused(member);
      await this.#resume(member, handleOf(member), actor);
    });
  }

  /** Stopped, and its files a layer that it goes on with. */
  async freeze(member: Member, actor: Actor): Promise<LayerInfo> {
    const sandbox = await this.running(member, actor);
    return member.turn.take(async () => {
      member.checkThere();
      const { promise, resolve } = Promise.withResolvers<LayerInfo>();
      await this.#end(member, actor, async () => resolve(await sandbox.freeze({ keep: true })));
      await member.become(this.#parts.book, "stopped", actor, "its files are frozen");
      return promise;
    });
  }

  /**
   * Lends its files while `use` goes on. An idle one is stopped for that, and starts again meanwhile; of a busy one they are
   * copied. A sentence: why they cannot be lent.
   */
  lend<T>(member: Member, actor: Actor, use: (layerId: LayerId, how: "overlay" | "copy") => Promise<T>) {
    return member.turn.take(async (): Promise<T | string> => {
      const sandbox = await this.#running(member, actor);
      const why = await whyNotLent(this.#parts, member, sandbox);
      if (why !== null) return why;
      const isIdle = member.uses <= 1 && !(await isBusy(sandbox)); // one use is that of whoever asks
      const lent = await sandbox.lend(isIdle).catch(refusalOf);
      if (typeof lent === "string") return lent;
      const again = isIdle ? this.#startAgain(member, actor) : undefined;
      try {
        return await use(lent.layerId, isIdle ? "overlay" : "copy");
      } finally {
        await again;
        await lent.release().catch(this.#parts.onError);
      }
    });
  }

  /** What it was stopped for goes on without it where it cannot: its next use starts it. */
  async #startAgain(member: Member, actor: Actor): Promise<void> {
    const { maker, book, starts, onError } = this.#parts;
    const { id, limits } = member.record;
    member.sandbox = undefined;
    try {
      const sandbox = await starts.with(() => maker.startSandbox(id, { limits, ...rootOf(member.record) }));
      await this.#took(member, sandbox, actor, null);
    } catch (error) {
      onError(error);
      await member.become(book, "failed", undefined, hidePaths(messageOf(error))).catch(onError);
    }
  }

  /**
   * An empty workspace, or that of its template, in which nothing runs yet but what its warm-up left. It is stopped on the
   * way: a start is what gives it one. What can refuse it comes first: room on the disk, and the log (S93).
   */
  reset(member: Member, actor: Actor): Promise<void> {
    return member.turn.take(async () => {
      member.checkThere();
      const { book, maker } = this.#parts;
      const { template } = member.record;
      const warmUp = template === null ? null : this.#parts.warmUpOf(template.id);
      if (member.record.status !== "stopped") checkTransition(member.record.id, member.record.status, "stopped");
      await member.sandbox?.checkDisk("a workspace that is made anew");
      const changes = { template: template && { ...template, memory: false, why: warmUp && "it was reset" } };
      const { id } = member.record;
      const data = { workspace: template === null ? "empty" : "template" } as const;
      await book.journal.record({ ...about(member.record, actor), type: "sandbox.reset", data }, (within) =>
        book.records.update(id, changes, within),
      );
      member.record = { ...member.record, ...changes };
      await this.#end(member, actor, (sandbox) => sandbox?.reset() ?? maker.resetSandbox(member.record.id));
      if (member.record.status !== "stopped") await member.become(book, "stopped", actor, "it is reset");
      await this.#running(member, actor, warmUp);
    });
  }

  /** The record is gone first: whatever happens then, the boundary is removed, now or by the next daemon. */
  destroy(member: Member, actor: Actor, reason: string | null = null): Promise<void> {
    return member.turn.take(async () => {
      member.checkThere();
      const sandbox = await this.#harvest(member, actor);
      const { record } = member;
      try {
        await member.become(this.#parts.book, "destroyed", actor, reason);
      } catch (error) {
        member.record = record; // what cannot be logged is not done
        throw error;
      }
      member.sandbox = undefined;
      await this.#parts.removals.remove(record.id, sandbox);
    });
  }

  /** One whose artifacts are to be kept runs once more, if need be: a worker inside reads them. */
  async #harvest(member: Member, actor: Actor): Promise<Sandbox | undefined> {
    const { keep, onError } = this.#parts;
    if (keep !== undefined && member.record.keepArtifactsMs > 0) await this.#running(member, actor).catch(onError);
    const { sandbox, record } = member;
    if (sandbox === undefined) return undefined;
    await copyOutput(this.#parts, record, sandbox, actor);
    await keepArtifacts(this.#parts, record, sandbox, actor);
    return sandbox;
  }

  /** Its end was not asked for. The workspace is there; the next use starts it. */
  async #lose(member: Member, sandbox: Sandbox, reason: string): Promise<void> {
    if (sandbox.ended) return;
    await member.turn.take(async () => {
      if (member.sandbox !== sandbox || sandbox.ended) return;
      member.sandbox = undefined;
      await sandbox.detach().catch(this.#parts.onError);
      await member.become(this.#parts.book, "failed", undefined, reason);
    });
  }
}

function notPaused({ record }: Member): AppError {
  return new AppError("conflict", `cannot resume sandbox ${record.id}: it is ${record.status}`, {
    hint: "start it instead: caisson start SANDBOX",
  });
}

function handleOf({ sandbox, record }: Member): Sandbox {
  if (sandbox !== undefined) return sandbox;
  throw new AppError("conflict", `sandbox ${record.id} is ${record.status}`, {
    hint: "start it first: caisson start SANDBOX",
  });
}
