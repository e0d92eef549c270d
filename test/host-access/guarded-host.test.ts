import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { ApprovalSettings } from "../../packages/server/src/core/approval.ts";
import { AppError } from "../../packages/server/src/core/errors.ts";
import type { HostSettings } from "../../packages/server/src/core/host-access.ts";
import { redacted } from "../../packages/server/src/core/redaction.ts";
import { ValueRedactor } from "../../packages/server/src/dlp/redactor.ts";
import { closedHost } from "../../packages/server/src/host-access/closed-host.ts";
import { readPolicy } from "../../packages/server/src/host-access/decide.ts";
import { GuardedHost } from "../../packages/server/src/host-access/guarded-host.ts";
import { hostLimits } from "../../packages/server/src/host-access/limits.ts";
import { StandingAnswers } from "../../packages/server/src/host-access/standing-answers.ts";
import { as, QueueHome, usual } from "../approvals/fixture.ts";
import { Folder, handWith, nothing } from "./hand.ts";

const agent = as("agent");
const operator = as("operator");
const secret = "hunter2-hunter2";

/** The host as a daemon has it, over a real store and approval queue. */
async function openHost(given: Partial<HostSettings>, home: QueueHome, approvals: Partial<ApprovalSettings> = {}) {
  const settings: HostSettings = { ...nothing, namespaces: ["default"], ...given };
  const policy = readPolicy(settings);
  let answers: StandingAnswers | undefined;
  // The queue needs the answers as it opens, and they its store.
  const opened = await home.open({ settings: { ...usual, ...approvals }, effects: { host: proxied(() => answers) } });
  answers = await StandingAnswers.open({ records: opened.store.approvals, policy, namespaces: settings.namespaces });
  const redactor = new ValueRedactor();
  redactor.hide([Buffer.from(secret)]);
  const host = new GuardedHost({
    settings,
    policy,
    hand: handWith(settings, { attended: opened.queue.attended }),
    answers,
    approvals: opened.queue,
    journal: opened.journal,
    redactors: async () => [redactor],
  });
  return { host, ...opened, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

function proxied(answers: () => StandingAnswers | undefined) {
  const now = () => answers() as StandingAnswers;
  return {
    known: (question: Parameters<StandingAnswers["known"]>[0]) => now().known(question),
    check: (...args: Parameters<StandingAnswers["check"]>) => now().check(...args),
    hold: (...args: Parameters<StandingAnswers["hold"]>) => now().hold(...args),
    release: (...args: Parameters<StandingAnswers["release"]>) => now().release(...args),
  };
}

async function problem(act: Promise<unknown>): Promise<AppError> {
  const error = await act.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw new Error(`no refusal, but ${error}`);
  return error;
}

describe("the host, turned off", () => {
  it.each([
    ["exec", () => closedHost.exec(operator, "id", {})],
    ["request", () => closedHost.request(operator, "id", undefined)],
    ["list", () => closedHost.list(operator)],
    ["readFile", () => closedHost.readFile(operator, "/etc/hostname")],
    ["writeFile", () => closedHost.writeFile(operator, "/tmp/x", Buffer.alloc(0))],
    ["listFolder", () => closedHost.listFolder(operator, "/")],
    ["openFile", () => closedHost.openFile(operator, "/etc/hostname")],
  ])("[HST-01] refuses %s", async (_name, act) => {
    expect(await problem(act())).toMatchObject({ code: "forbidden", message: "host access is disabled" });
  });
});

describe("a command on the host", () => {
  it("[HST-02] is written down before it runs, and what became of it after", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost({ allow: ["id -u"], blocked: ["rm **"] }, home);
    expect((await here.host.exec(agent, "id -u", {})).exit_code).toBe(0);
    await problem(here.host.exec(agent, ["rm", "x"], {}));
    await problem(here.host.exec(agent, "id", {}));
    expect(await here.logged()).toEqual(["host.started", "host.completed", "host.denied", "host.denied"]);
    const rows = await here.store.audit.search({ after: 0 });
    expect(rows[0]).toMatchObject({ actor: "key-agent-default", detail: { program: "id", rule: "id -u" } });
    expect(rows[1]).toMatchObject({ detail: { exit_code: 0, timed_out: false } });
  });

  it("[HST-02] that cannot be written down does not run", async () => {
    await using home = await QueueHome.make();
    await using folder = await Folder.make();
    const made = join(folder.path, "made");
    await using here = await openHost(
      { allow: [`touch ${folder.path}/*`], folders: [{ path: folder.path, writable: true }] },
      home,
    );
    vi.spyOn(here.journal, "record").mockRejectedValue(new AppError("unavailable", "the disk is full"));
    expect((await problem(here.host.exec(agent, ["touch", made], {}))).code).toBe("unavailable");
    expect((await problem(here.host.writeFile(agent, made, Buffer.from("x")))).code).toBe("unavailable");
    vi.restoreAllMocks();
    expect((await here.host.listFolder(agent, folder.path)).entries).toEqual([]);
    await problem(here.host.readFile(agent, "/etc/hostname"));
    expect((await here.logged()).slice(-3)).toEqual(["host.listed", "host.read", "host.failed"]);
    expect((await here.host.exec(agent, ["touch", made], {})).exit_code).toBe(0);
  });

  it("[HST-02] shows no secret of the namespace", async () => {
    await using home = await QueueHome.make();
    await using folder = await Folder.make();
    const file = join(folder.path, secret);
    await writeFile(file, `a ${secret} b`);
    await using here = await openHost({ allow: ["echo *"], folders: [{ path: folder.path, writable: false }] }, home);
    expect((await here.host.exec(agent, ["echo", `a ${secret} b`], {})).stdout).toBe(`a ${redacted} b\n`);
    expect((await here.host.readFile(agent, file)).bytes.toString()).toBe(`a ${redacted} b`);
    expect((await here.host.listFolder(agent, folder.path)).entries[0]?.name).toBe(redacted);
    const { sizeBytes, pieces } = await here.host.openFile(agent, file);
    const copied = Buffer.concat(await Array.fromAsync(pieces));
    expect(copied.toString()).not.toContain(secret);
    expect(copied).toHaveLength(sizeBytes);
  });

  it("[HST-01] is for the namespaces that the operator names", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost({ allow: ["id"] }, home);
    const other = as("admin", "other");
    for (const act of [here.host.exec(other, "id", {}), here.host.list(other), here.host.request(other, "id", "x")])
      expect((await problem(act)).message).toContain("host access is disabled for the namespace other");
    expect((await here.host.exec(agent, "id", {})).exit_code).toBe(0);
  });

  it("says how to ask where no pattern allows it", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost({}, home);
    const refusal = await problem(here.host.exec(agent, "id", {}));
    expect(refusal).toMatchObject({ code: "forbidden", details: { refused: "host", rule: null } });
    expect(refusal.hint).toContain("request_host_access");
  });

  it("is bounded in time", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost({ allow: ["id"] }, home);
    const timeoutMs = hostLimits.timeoutMs.max + 1;
    expect((await problem(here.host.exec(agent, "id", { timeoutMs }))).message).toContain("the time of a command");
  });
});

describe("a command on the host that takes an approval", () => {
  const asking: Partial<HostSettings> = { ask: ["echo *"] };

  it("[HST-02] runs when a human says yes, once", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost(asking, home);
    const run = here.host.exec(agent, "echo 'a b'", {});
    const asked = await pending(here);
    expect(asked).toMatchObject({ kind: "host", subject: "echo 'a b'", detail: { rule: "echo *" } });
    expect((await problem(here.queue.decide(agent, asked.id, { approve: true }))).code).toBe("forbidden");
    await here.queue.decide(operator, asked.id, { approve: true });
    expect((await run).stdout).toBe("a b\n");
    const again = here.host.exec(agent, "echo 'a b'", {});
    await here.queue.decide(operator, (await pending(here)).id, { approve: false, reason: "enough" });
    expect((await problem(again)).message).toContain("denied by a human: enough");
  });

  it("[HST-02] runs once for a yes for once, however many attempts wait for it: the others are asked about anew", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost(asking, home);
    const attempts = Array.from({ length: 3 }, () => here.host.exec(agent, "echo a", {}));
    const outcomes = attempts.map((attempt) => attempt.then(({ stdout }) => stdout, whyRefused));
    const first = await pending(here, 3);
    await here.queue.decide(operator, first.id, { approve: true, scope: "once" });
    const second = await pending(here, 2);
    expect(second.id).not.toBe(first.id);
    await here.queue.decide(operator, second.id, { approve: false, reason: "enough" });
    const told = (await Promise.all(outcomes)).sort();
    expect(told).toEqual(["a\n", expect.stringContaining("enough"), expect.stringContaining("enough")]);
  });

  it("[HST-02] runs again without a question when the yes is for always, until it is revoked", async () => {
    await using home = await QueueHome.make();
    {
      await using here = await openHost(asking, home);
      const run = here.host.exec(agent, "echo one", {});
      await here.queue.decide(operator, (await pending(here)).id, { approve: true, scope: "always" });
      expect((await run).exit_code).toBe(0);
      expect((await here.host.exec(agent, ["echo", "one"], {})).exit_code).toBe(0);
      expect((await here.host.list(agent)).approved).toMatchObject([{ pattern: "echo one" }]);
    }
    await using later = await openHost(asking, home, { holdMs: 0 });
    expect((await later.host.exec(agent, "echo one", {})).exit_code).toBe(0);
    expect((await problem(later.host.exec(agent, "echo two", {}))).details).toMatchObject({
      approval_state: "pending",
    });
    const [held] = (await later.host.list(agent)).approved;
    await later.queue.revoke(operator, held?.approval_id ?? "");
    expect((await problem(later.host.exec(agent, "echo one", {}))).details).toMatchObject({
      approval_state: "pending",
    });
    expect((await later.host.list(agent)).approved).toEqual([]);
  });

  it("[HST-02] finds the answer that came after it gave up", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost(asking, home, { holdMs: 0 });
    const refusal = await problem(here.host.exec(agent, "echo a", {}));
    expect(refusal.details).toMatchObject({ approval_state: "pending", wait: expect.stringContaining("/wait") });
    await here.queue.decide(operator, String(refusal.details?.approval_id), { approve: true });
    expect((await here.host.exec(agent, "echo a", {})).stdout).toBe("a\n");
    expect((await problem(here.host.exec(agent, "echo a", {}))).details).toMatchObject({ approval_state: "pending" });
  });

  it("[HST-02] is refused where nobody attends, or when it is too long to be shown", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost(asking, home, { attended: false });
    expect((await problem(here.host.exec(agent, "echo a", {}))).message).toContain("nobody attends");
    await using other = await QueueHome.make();
    await using attended = await openHost(asking, other);
    expect((await problem(attended.host.exec(agent, ["echo", "a".repeat(600)], {}))).message).toContain("too long");
  });
});

describe("a pattern that an agent asks for", () => {
  it("[HST-01] holds once a human approves it for always, and for what it says alone", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost({ blocked: ["echo secret*"] }, home);
    const asked = await here.host.request(agent, "echo *", "to see");
    expect(asked).toMatchObject({ state: "pending", subject: "echo *", detail: { purpose: "to see" } });
    expect((await problem(here.host.exec(agent, "echo a", {}))).code).toBe("forbidden");
    expect((await problem(here.queue.decide(operator, asked.id, { approve: true }))).hint).toContain("scope always");
    await here.queue.decide(operator, asked.id, { approve: true, scope: "always" });
    expect((await here.host.exec(agent, "echo a b", {})).stdout).toBe("a b\n");
    expect((await problem(here.host.exec(agent, "echo -n", {}))).code).toBe("forbidden");
    expect((await problem(here.host.exec(agent, "echo secrets", {}))).message).toContain("blocks it");
    expect((await problem(here.host.exec(agent, "cat a", {}))).code).toBe("forbidden");
    expect(await here.host.request(agent, "echo *", "again")).toMatchObject({ state: "approved" });
  });

  it("[HST-01] is refused for always when a human says so, whatever allows it", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost({ allow: ["id", "echo a"], ask: ["echo *"] }, home);
    const asked = await here.host.request(agent, "echo *", undefined);
    await here.queue.decide(operator, asked.id, { approve: false, scope: "always" });
    expect((await problem(here.host.exec(agent, "echo a", {}))).message).toContain("denied 'echo *' permanently");
    expect((await here.host.list(agent)).denied).toMatchObject([{ pattern: "echo *" }]);
    expect((await here.host.exec(agent, "id", {})).exit_code).toBe(0);
  });

  it("is answered at once where the configuration has said it", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost({ allow: ["id", "echo *"], blocked: ["rm **", "su *"] }, home);
    expect(await here.host.request(agent, "echo *", undefined)).toMatchObject({ state: "approved" });
    expect(await here.host.request(agent, "echo x", undefined)).toMatchObject({ state: "approved" });
    expect(await here.host.request(agent, "rm x", undefined)).toMatchObject({ state: "denied" });
    expect(await here.host.request(agent, "su *", undefined)).toMatchObject({ state: "denied" });
  });

  it("names a program, and is no shell's", async () => {
    await using home = await QueueHome.make();
    await using here = await openHost({}, home);
    for (const pattern of ["* x", "**", "", "a | b", "a $b"])
      expect((await problem(here.host.request(agent, pattern, undefined))).code).toBe("invalid");
  });
});

type Here = Awaited<ReturnType<typeof openHost>>;

const whyRefused = (error: Error) => error.message;

/** The question that as many attempts wait for as told. */
function pending({ queue }: Here, asked = 1) {
  return vi.waitFor(
    async () => {
      const [first] = await queue.list(operator, { state: "pending", kind: "host", limit: 1 });
      if (first === undefined || first.asked < asked) throw new Error("nobody has asked");
      return first;
    },
    { timeout: 20_000 },
  );
}
