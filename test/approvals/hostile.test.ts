import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { approvalLimits } from "../../packages/server/src/approvals/limits.ts";
import type { ApprovalRecords } from "../../packages/server/src/core/approval.ts";
import { as, QueueHome, question, type TestQueue } from "./fixture.ts";

const agent = as("agent");
const operator = as("operator");

describe("what would misuse questions to humans", () => {
  let home: QueueHome;
  let under: TestQueue;
  beforeEach(async () => {
    home = await QueueHome.make();
    under = await home.open();
  });
  afterEach(async () => {
    await under[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  it("an agent cannot answer, neither its own question nor another's, and an operator can", async () => {
    const { queue } = under;
    const own = await queue.request(agent, question());
    for (const role of ["viewer", "agent"] as const) {
      await expect(queue.decide(as(role), own.id, { approve: true })).rejects.toMatchObject({ code: "forbidden" });
      await expect(queue.revoke(as(role), own.id)).rejects.toMatchObject({ code: "forbidden" });
    }
    await expect(queue.request(as("viewer"), question())).rejects.toMatchObject({ code: "forbidden" });
    expect(await queue.get(agent, own.id)).toMatchObject({ state: "pending", askedBy: "key-agent-default" });
    expect((await queue.decide(operator, own.id, { approve: true })).state).toBe("approved");
  });

  it("[IDN-04] another namespace neither sees, waits for, decides nor revokes it", async () => {
    const { queue } = under;
    const asked = await queue.ask(question());
    const stranger = as("admin", "elsewhere");
    const unknown = { code: "not_found" };
    await expect(queue.get(stranger, asked.id)).rejects.toMatchObject(unknown);
    await expect(queue.wait(stranger, asked.id, 0)).rejects.toMatchObject(unknown);
    await expect(queue.decide(stranger, asked.id, { approve: true })).rejects.toMatchObject(unknown);
    await expect(queue.list(stranger, { limit: 9, cursor: asked.id })).rejects.toMatchObject({ code: "not_found" });
    expect(await queue.list(stranger, { limit: 9 })).toEqual([]);
    await queue.decide(operator, asked.id, { approve: true, scope: "always" });
    await expect(queue.revoke(stranger, asked.id)).rejects.toMatchObject(unknown);
    expect((await queue.ask(question({ namespace: "elsewhere" }))).state).toBe("pending");
  });

  it("is decided once when many decide, and when its time ends meanwhile", async () => {
    const { queue } = under;
    const subjects = Array.from({ length: 5 }, (_, at) => `host-${at}:443`);
    for (const subject of subjects) {
      const asked = await queue.ask(question({ subject, timeoutMs: approvalLimits.timeoutMs.min }));
      const waiting = queue.settled(asked.id);
      // The last ones are decided at about the moment at which they expire.
      while (subject > "host-2" && Date.now() < asked.expiresAtMs - 1) await setImmediate();
      const tries = await Promise.allSettled(
        [true, false, true, false].map((approve) => queue.decide(operator, asked.id, { approve })),
      );
      const won = tries.filter((one) => one.status === "fulfilled");
      const settled = await waiting;
      expect(won.length).toBe(settled.state === "expired" ? 0 : 1);
      for (const lost of tries.filter((one) => one.status === "rejected"))
        expect(lost.reason).toMatchObject({ code: "conflict" });
      const [first] = won;
      if (first !== undefined) expect(first.value).toEqual(settled);
      expect(await queue.get(agent, asked.id)).toEqual(settled);
    }
    const log = (await under.logged()).filter((type) => type.startsWith("approval."));
    expect(log.length).toBe(2 * subjects.length);
  });

  /** An approval queue whose store answers what it is asked next only after the gate opens. */
  const withSlowStore = async (home: QueueHome) => {
    let slow: { verb: keyof ApprovalRecords; gate: Promise<void>; begun: () => void } | undefined;
    const wrap = (records: ApprovalRecords) =>
      new Proxy(records, {
        get: (target, name: keyof ApprovalRecords) => {
          const verb = (target[name] as (...args: unknown[]) => Promise<unknown>).bind(target);
          return async (...args: unknown[]) => {
            const result = await verb(...args);
            const now = slow;
            if (now?.verb !== name) return result;
            slow = undefined;
            now.begun();
            await now.gate;
            return result;
          };
        },
      });
    const other = await home.open({ wrap });
    const delay = (verb: keyof ApprovalRecords) => {
      const [gate, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      slow = { verb, gate: gate.promise, begun: begun.resolve };
      return { begun: begun.promise, open: gate.resolve };
    };
    return { ...other, delay };
  };

  it("is not told that it expired when its answer came while it was looked up", async () => {
    await using own = await QueueHome.make();
    await using other = await withSlowStore(own);
    const { queue, delay } = other;
    const asked = await queue.ask(question());
    const reading = delay("get");
    const looking = queue.get(agent, asked.id);
    await reading.begun;
    await queue.decide(operator, asked.id, { approve: true });
    reading.open();
    expect((await looking).state).toBe("approved");
  });

  it("uses a yes for once in one attempt, also when that gives up while the answer is written", async () => {
    await using own = await QueueHome.make();
    await using other = await withSlowStore(own);
    const { queue, delay } = other;
    const asked = await queue.ask(question());
    const giving = new AbortController();
    const waiting = queue.settled(asked.id, giving.signal);
    const writing = delay("update");
    const deciding = queue.decide(operator, asked.id, { approve: true });
    await writing.begun;
    giving.abort();
    const again = queue.ask(question());
    writing.open();
    expect((await deciding).usedAtMs).not.toBeNull();
    expect((await waiting).state).toBe("approved");
    expect((await again).state).toBe("pending");
  });

  it("cannot ask without end: at a time, and in a minute", async () => {
    const { queue } = under;
    const { pendingPerSandbox, askedPerMinute } = approvalLimits;
    const ask = (at: number, sandboxId: string) => queue.ask(question({ subject: `host-${at}:443`, sandboxId }));
    for (let at = 0; at < pendingPerSandbox; at++) await ask(at, "box-1");
    await expect(ask(pendingPerSandbox, "box-1")).rejects.toMatchObject({ code: "limit_exceeded" });
    expect((await ask(0, "box-1")).asked).toBe(1);
    const [open] = await queue.list(agent, { limit: 1 });
    await queue.decide(operator, open?.id ?? "", { approve: false });
    await ask(pendingPerSandbox, "box-1");
    const elsewhere = (at: number) =>
      queue.ask(question({ namespace: "elsewhere", sandboxId: "theirs", subject: `host-${at}:443` }));
    for (let at = 0; at < askedPerMinute; at++) {
      const asked = await elsewhere(at);
      await queue.decide(as("operator", "elsewhere"), asked.id, { approve: false });
    }
    await expect(elsewhere(askedPerMinute)).rejects.toMatchObject({
      code: "limit_exceeded",
      retryAfterMs: expect.any(Number),
    });
  });

  it("cannot ask without end with all sandboxes of a namespace together", async () => {
    let aheadMs = 0;
    const clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() + aheadMs };
    await using own = await QueueHome.make();
    await using other = await own.open({ clock });
    const { pendingPerNamespace, askedPerMinuteOfNamespace, minuteMs } = approvalLimits;
    for (let at = 0; at < pendingPerNamespace; at++) {
      if (at % askedPerMinuteOfNamespace === 0 && at > 0) {
        const early = other.queue.ask(question({ sandboxId: "early" }));
        await expect(early).rejects.toMatchObject({ code: "limit_exceeded", retryAfterMs: expect.any(Number) });
        aheadMs += minuteMs;
      }
      await other.queue.ask(question({ sandboxId: `box-${at}` }));
    }
    aheadMs += minuteMs;
    const one = other.queue.ask(question({ sandboxId: "one-more" }));
    await expect(one).rejects.toThrow(`requests of this namespace (limit: ${pendingPerNamespace})`);
    expect((await other.queue.ask(question({ namespace: "other" }))).state).toBe("pending");
  });

  it("cannot ask what is too long to be shown, nor have it cut", async () => {
    const { queue } = under;
    const { subjectChars, shownChars, details, detailNameChars } = approvalLimits;
    const long = [
      { subject: "" },
      { subject: "a".repeat(subjectChars + 1) },
      { text: "a".repeat(shownChars + 1), detail: {} },
      { text: "a", detail: { stdin: "a".repeat(shownChars) } },
      { detail: { ["a".repeat(detailNameChars + 1)]: 1 } },
      { detail: Object.fromEntries(Array.from({ length: details + 1 }, (_, at) => [`d${at}`, at])) },
    ];
    for (const more of long) await expect(queue.ask(question(more))).rejects.toMatchObject({ code: "too_large" });
    const most = await queue.ask(
      question({ subject: "a".repeat(subjectChars), text: "b".repeat(shownChars), detail: {} }),
    );
    expect((await queue.get(agent, most.id)).text?.length).toBe(shownChars);
    await expect(
      queue.decide(operator, most.id, { approve: true, reason: "a".repeat(approvalLimits.reasonChars + 1) }),
    ).rejects.toMatchObject({ code: "too_large" });
  });

  it("gets no answer that was given to something else which looks the same", async () => {
    const { queue } = under;
    const shown = question({ kind: "command", subject: "make", text: "make", compared: "make in /a" });
    const asked = await queue.ask(shown);
    await queue.decide(operator, asked.id, { approve: true, scope: "always" });
    expect((await queue.ask(shown)).state).toBe("approved");
    expect((await queue.ask({ ...shown, compared: "make in /b" })).state).toBe("pending");
    expect((await queue.ask({ ...shown, kind: "host" })).state).toBe("pending");
  });

  it("waits with many others, but not with all", async () => {
    const { queue } = under;
    const asked = await queue.ask(question());
    const ending = new AbortController();
    const most = approvalLimits.waitersPerNamespace;
    const waiting = Array.from({ length: most }, () => queue.wait(agent, asked.id, 60_000, ending.signal));
    await expect
      .poll(() =>
        queue.wait(agent, asked.id, 0).then(
          () => "",
          (error) => error.code,
        ),
      )
      .toBe("limit_exceeded");
    ending.abort();
    for (const one of await Promise.all(waiting)) expect(one.state).toBe("pending");
    expect((await queue.wait(agent, asked.id, 0)).state).toBe("pending");
  });

  it("is told no when an answer cannot be written, and the operator that it could not", async () => {
    let broken = false;
    const wrap = (records: ApprovalRecords) =>
      new Proxy(records, {
        get: (target, name: keyof ApprovalRecords) =>
          name === "update" && broken
            ? async () => Promise.reject(new Error("the disk is full"))
            : (target[name] as (...args: unknown[]) => unknown).bind(target),
      });
    await using own = await QueueHome.make();
    await using other = await own.open({ wrap });
    const { queue } = other;
    const asked = await queue.ask(question());
    broken = true;
    await expect(queue.decide(operator, asked.id, { approve: true })).rejects.toThrow("the disk is full");
    expect((await queue.get(agent, asked.id)).state).toBe("pending");
    const late = await queue.ask(question({ subject: "late:443", timeoutMs: approvalLimits.timeoutMs.min }));
    expect((await queue.settled(late.id)).state).toBe("expired");
    expect(other.errors.length).toBe(1);
    expect((await queue.get(agent, late.id)).state).toBe("expired");
    broken = false;
    expect((await queue.decide(operator, asked.id, { approve: true })).state).toBe("approved");
  });
});
