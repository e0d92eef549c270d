import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { approvalLimits } from "../../packages/server/src/approvals/limits.ts";
import type { ApprovalEffect } from "../../packages/server/src/core/approval.ts";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { as, QueueHome, question, type TestQueue, usual } from "./fixture.ts";

const agent = as("agent");
const operator = as("operator");

describe("a question to a human", () => {
  let home: QueueHome;
  let under: TestQueue;
  beforeEach(async () => {
    home = await QueueHome.make();
    under = await home.open();
  });
  afterEach(async () => {
    await under[Symbol.asyncDispose]();
    expect(under.errors).toEqual([]);
    await home[Symbol.asyncDispose]();
  });
  const types = () => under.events().map(({ type }) => type);

  it("[NET-09] lets the attempt that waits go on once it is approved, and is told and logged", async () => {
    const { queue } = under;
    const asked = await queue.ask(question());
    expect(asked).toMatchObject({ state: "pending", asked: 1, askedBy: null, scope: null });
    const waiting = queue.settled(asked.id);
    const decided = await queue.decide(operator, asked.id, { approve: true, reason: "it is ours" });
    expect(await waiting).toEqual(decided);
    expect(decided).toMatchObject({ state: "approved", scope: "once", decidedBy: "key-operator-default" });
    expect(await queue.get(agent, asked.id)).toEqual(decided);
    expect(await queue.settled(asked.id)).toEqual(decided);
    expect(types()).toEqual(["approval.requested", "egress.requested", "approval.approved", "egress.approved"]);
    expect(await under.logged()).toEqual(types());
    expect((await under.store.audit.search({ type: "approval.approved" }))[0]).toMatchObject({
      actor: "key-operator-default",
      sandboxId: "box-1",
      detail: { approval_id: asked.id, subject: "api.example.com:443", scope: "once", reason: "it is ours" },
    });
  });

  it("[NET-09] refuses the attempt when it is denied, and when nobody answers in time", async () => {
    const { queue } = under;
    const denied = await queue.ask(question());
    const waiting = queue.settled(denied.id);
    await queue.decide(operator, denied.id, { approve: false, reason: "not this one" });
    expect(await waiting).toMatchObject({ state: "denied", reason: "not this one" });
    const late = await queue.ask(question({ timeoutMs: approvalLimits.timeoutMs.min }));
    expect(late.id).not.toBe(denied.id);
    expect(await queue.settled(late.id)).toMatchObject({ state: "expired", reason: "nobody answered in time" });
    await expect(queue.decide(operator, late.id, { approve: true })).rejects.toMatchObject({ code: "conflict" });
    expect(types().filter((type) => type.startsWith("egress."))).toEqual([
      "egress.requested",
      "egress.denied",
      "egress.requested",
      "egress.denied",
    ]);
  });

  it("is one for all who ask the same, of one sandbox", async () => {
    const { queue } = under;
    const same = await Promise.all(Array.from({ length: 20 }, () => queue.ask(question())));
    expect(new Set(same.map(({ id }) => id)).size).toBe(1);
    const id = same[0]?.id ?? "";
    expect(await queue.get(agent, id)).toMatchObject({ asked: 20 });
    const others = [
      await queue.ask(question({ sandboxId: "box-2" })),
      await queue.ask(question({ subject: "api.example.com:80" })),
      await queue.ask(question({ kind: "upload" })),
      await queue.ask(question({ namespace: "other" })),
    ];
    expect(new Set([id, ...others.map((other) => other.id)]).size).toBe(5);
    const waiting = same.map(() => queue.settled(id));
    await queue.decide(operator, id, { approve: true });
    for (const one of await Promise.all(waiting)) expect(one.state).toBe("approved");
    expect((await queue.ask(question())).id).not.toBe(id);
    expect((await queue.list(agent, { limit: 9, sandboxId: "box-1" })).find((one) => one.id === id)?.asked).toBe(20);
  });

  it("that was approved once after its attempt gave up is good for one more attempt, and no other", async () => {
    const { queue } = under;
    const asked = await queue.ask(question());
    expect(await queue.settled(asked.id, AbortSignal.abort())).toMatchObject({ id: asked.id, state: "pending" });
    await queue.decide(operator, asked.id, { approve: true });
    const [one, two] = await Promise.all([queue.ask(question()), queue.ask(question())]);
    const states = [one, two].map(({ state }) => state).sort();
    expect(states).toEqual(["approved", "pending"]);
    expect([one, two].find(({ state }) => state === "approved")?.id).toBe(asked.id);
    expect(await under.logged()).toContain("approval.used");
  });

  it("that was approved once is no longer good after a while", async () => {
    let jumpMs = 0;
    const clock = { wallMs: () => Date.now() + jumpMs, monotonicMs: systemClock.monotonicMs };
    await using own = await QueueHome.make();
    await using later = await own.open({ clock });
    const asked = await later.queue.request(agent, question());
    await later.queue.decide(operator, asked.id, { approve: true });
    jumpMs = approvalLimits.onceMs + 1;
    expect(await later.queue.ask(question())).toMatchObject({ state: "pending" });
  });

  it("is answered by itself for the sandbox, or for always, until that is revoked", async () => {
    const { queue } = under;
    const decide = async (more: object, approve: boolean, scope: "sandbox" | "always") => {
      const asked = await queue.ask(question(more));
      expect(asked.state).toBe("pending");
      return queue.decide(operator, asked.id, { approve, scope });
    };
    const mine = await decide({ subject: "a:1" }, true, "sandbox");
    await decide({ subject: "b:1" }, false, "sandbox");
    const all = await decide({ subject: "c:1" }, true, "always");
    const ask = async (subject: string, sandboxId: string, namespace = "default") =>
      (await queue.ask(question({ subject, sandboxId, namespace }))).state;
    expect(await ask("a:1", "box-1")).toBe("approved");
    expect(await ask("a:1", "box-1")).toBe("approved");
    expect(await ask("a:1", "box-2")).toBe("pending");
    expect(await ask("b:1", "box-1")).toBe("denied");
    expect(await ask("c:1", "box-3")).toBe("approved");
    expect(await ask("c:1", "box-1", "other")).toBe("pending");
    await queue.revoke(operator, mine.id);
    await queue.revoke(operator, all.id);
    expect(await ask("a:1", "box-1")).toBe("pending");
    expect(await ask("c:1", "box-3")).toBe("pending");
    await expect(queue.revoke(operator, mine.id)).rejects.toMatchObject({ code: "conflict" });
  });

  it("is denied where one answer says so and another approves", async () => {
    const { queue } = under;
    const [yes, no] = [await queue.ask(question()), await queue.ask(question({ sandboxId: "box-2" }))];
    await queue.decide(operator, no.id, { approve: false, scope: "sandbox" });
    await queue.decide(operator, yes.id, { approve: true, scope: "always" });
    expect((await queue.ask(question({ sandboxId: "box-2" }))).state).toBe("denied");
    expect((await queue.ask(question({ sandboxId: "box-3" }))).state).toBe("approved");
  });

  it("of the whole namespace is answered for always or not at all", async () => {
    const { queue } = under;
    const asked = await queue.request(agent, question({ sandboxId: null }));
    for (const scope of [undefined, "once", "sandbox"] as const)
      await expect(
        queue.decide(operator, asked.id, { approve: true, ...(scope === undefined ? {} : { scope }) }),
      ).rejects.toMatchObject({ code: "invalid" });
    await queue.decide(operator, asked.id, { approve: true, scope: "always" });
    expect((await queue.ask(question())).state).toBe("approved");
  });

  it("makes what its kind says hold, and stays pending when that is refused", async () => {
    await using own = await QueueHome.make();
    const held: unknown[] = [];
    let refuses = true;
    const hold = async ({ subject }: { subject: string }, answer: object) => {
      if (refuses) throw new Error("the policy is full");
      held.push([subject, answer]);
    };
    const release = async ({ subject }: { subject: string }, answer: object) =>
      void held.push(["released", subject, answer]);
    await using other = await own.open({ effects: { egress: { hold, release } } });
    const { queue } = other;
    const asked = await queue.ask(question());
    const waiting = queue.settled(asked.id);
    const decision = { approve: true, scope: "sandbox" } as const;
    await expect(queue.decide(operator, asked.id, decision)).rejects.toThrow("the policy is full");
    expect(await queue.get(agent, asked.id)).toMatchObject({ state: "pending" });
    refuses = false;
    await queue.decide(operator, asked.id, decision);
    expect(held).toEqual([["api.example.com:443", decision]]);
    expect((await waiting).state).toBe("approved");
    // Whoever asks once more asks because the rule is there no longer.
    expect((await queue.ask(question())).state).toBe("pending");
    await queue.revoke(operator, asked.id);
    expect(held.at(-1)).toEqual(["released", "api.example.com:443", decision]);
    await expect(queue.revoke(operator, asked.id)).rejects.toMatchObject({ code: "conflict" });
  });

  it("is not asked in advance about what holds already, nor answered without effect", async () => {
    await using own = await QueueHome.make();
    const egress: ApprovalEffect = {
      known: ({ subject }) => (subject === "known:443" ? { approve: true, reason: "a rule allows it" } : undefined),
      check: (_, { scope }) => {
        if (scope === "once") throw new AppError("invalid", "nobody would ask for it");
      },
      hold: async () => undefined,
      release: async () => undefined,
    };
    await using other = await own.open({ effects: { egress } });
    const { queue } = other;
    const known = await queue.request(agent, question({ subject: "known:443" }));
    expect(known).toMatchObject({ state: "approved", reason: "a rule allows it", decidedBy: null });
    expect(await queue.get(agent, known.id)).toEqual(known);
    expect(other.events()).toEqual([]);
    const asked = await queue.request(agent, question());
    await expect(queue.decide(operator, asked.id, { approve: true })).rejects.toMatchObject({ code: "invalid" });
    expect((await queue.decide(operator, asked.id, { approve: true, scope: "sandbox" })).state).toBe("approved");
  });

  it("is withdrawn with its sandbox", async () => {
    const { queue } = under;
    const [gone, stays] = [await queue.ask(question()), await queue.ask(question({ sandboxId: "box-2" }))];
    const waiting = queue.settled(gone.id);
    expect(queue.askers().sort()).toEqual(["box-1", "box-2"]);
    await queue.forget("box-1");
    expect(await waiting).toMatchObject({ state: "cancelled", reason: "its sandbox was destroyed" });
    expect(await queue.get(agent, stays.id)).toMatchObject({ state: "pending" });
    await queue.decide(operator, stays.id, { approve: true, scope: "sandbox" });
    await queue.forget("box-2");
    expect((await queue.get(agent, stays.id)).revokedAtMs).not.toBeNull();
    expect((await queue.ask(question({ sandboxId: "box-2" }))).state).toBe("pending");
  });

  it("expires with a reason when the daemon ends, and what was decided holds in the next one", async () => {
    const { queue } = under;
    const always = await queue.ask(question({ subject: "c:1" }));
    await queue.decide(operator, always.id, { approve: true, scope: "always" });
    const open = await queue.ask(question());
    const waiting = queue.settled(open.id);
    await under[Symbol.asyncDispose]();
    expect(await waiting).toMatchObject({ state: "expired", reason: expect.stringContaining("shut down") });
    await expect(queue.ask(question())).rejects.toMatchObject({ code: "unavailable" });
    under = await home.open();
    expect(await under.queue.get(agent, open.id)).toMatchObject({ state: "expired" });
    expect((await under.queue.ask(question({ subject: "c:1" }))).state).toBe("approved");
  });

  it("expires at the next start when the daemon was killed", async () => {
    const left = await under.queue.ask(question());
    const row = await under.store.approvals.get(left.id);
    await under[Symbol.asyncDispose]();
    under = await home.open();
    await under.store.approvals.update(left.id, { ...row, id: undefined } as never);
    expect(await under.queue.get(agent, left.id)).toMatchObject({ state: "expired" });
    await under[Symbol.asyncDispose]();
    under = await home.open();
    const reason = "the daemon was started anew before anybody answered";
    expect(await under.store.approvals.get(left.id)).toMatchObject({ state: "expired", reason });
    const [asked, late] = [
      ["approval.requested", "egress.requested"],
      ["approval.expired", "egress.denied"],
    ];
    expect(await under.logged()).toEqual([...asked, ...late, ...late]);
  });

  it("[NET-09] is refused at once where nobody attends", async () => {
    await using own = await QueueHome.make();
    await using alone = await own.open({ settings: { ...usual, attended: false } });
    expect(alone.queue.attended).toBe(false);
    const refusal = { code: "forbidden", details: { refused: "egress", what: "api.example.com:443" } };
    await expect(alone.queue.ask(question())).rejects.toMatchObject(refusal);
    await expect(alone.queue.request(agent, question())).rejects.toMatchObject(refusal);
    expect(await alone.queue.list(agent, { limit: 9 })).toEqual([]);
  });
});
