import { afterAll, describe, expect, it } from "vitest";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { type Language, languages } from "../../packages/server/src/core/language.ts";
import { validationLimits } from "../../packages/server/src/validation/limits.ts";
import { CodeAndDataValidation } from "../../packages/server/src/validation/validation.ts";

const validation = new CodeAndDataValidation({ taskMs: 2_000, idleMs: 60_000 });
afterAll(() => validation[Symbol.asyncDispose]());

const read = (language: Language, code: string | Uint8Array) =>
  validation.code({ language, code, policy: "strict", autoFix: true });

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "answered",
    (error: unknown) => (error instanceof AppError ? error.code : error),
  );

/** A check of something plain, which must come through whatever was there before it. */
const stillWorks = async (language: Language) => {
  const { valid } = await read(language, "x=1");
  expect(valid).toBe(true);
};

it("holds up checks of other namespaces for no longer than those that run", async () => {
  await using shared = new CodeAndDataValidation({ taskMs: 500, idleMs: 60_000 });
  const endless = { type: "string", pattern: "^(a+)+$" };
  const gone = new AbortController();
  let done = 0;
  const check = () =>
    codeOf(shared.for("many").json(`${"a".repeat(40)}!`, endless, gone.signal)).finally(() => {
      done += 1;
    });
  const many = Array.from({ length: validationLimits.workers + validationLimits.queuedEach }, check);
  expect(await codeOf(shared.for("many").json("a", {}))).toBe("unavailable");
  expect((await shared.for("one").json("aaa", endless)).valid).toBe(true);
  expect(done).toBeLessThan(many.length / 2);
  gone.abort(new AppError("invalid", "the client closed the connection"));
  await Promise.all(many);
});

const deep = 10_000;
const nests: Record<Language, string[]> = {
  python: [
    "(".repeat(deep) + ")".repeat(deep),
    `x = ${"-".repeat(deep)}1`,
    "f'{".repeat(deep),
    `x${".y".repeat(deep)}`,
  ],
  node: ["[".repeat(deep), `${"(".repeat(deep)}1${")".repeat(deep)}`, "a?".repeat(deep), "`${".repeat(deep)],
  shell: [
    "$(".repeat(deep),
    "{ ".repeat(deep),
    "if true; then ".repeat(deep),
    '"$('.repeat(deep),
    "${a:-".repeat(deep),
  ],
};

describe.each(languages)("hostile code in %s", (language) => {
  it("of 10 MB is refused at once", async () => {
    expect(await codeOf(read(language, "x".repeat(10_000_000)))).toBe("too_large");
    expect(await codeOf(read(language, new Uint8Array(10_000_000)))).toBe("too_large");
  });

  it("that is not UTF-8 is refused", async () => {
    expect(await codeOf(read(language, Uint8Array.of(0x78, 0x3d, 0xff, 0xfe)))).toBe("invalid");
    expect(await codeOf(read(language, "x='\ud800'"))).toBe("invalid");
  });

  it("is read from bytes as well", async () => {
    expect((await read(language, Buffer.from("x='é'"))).valid).toBe(true);
  });

  it.each(nests[language].map((code) => [code.slice(0, 8), code]))(
    "nested 10,000 levels deep (%s…) is answered, and so is the next",
    async (_, code) => {
      const answer = await read(language, code).catch((error: unknown) => error);
      if (answer instanceof AppError) expect(["too_large", "timeout"]).toContain(answer.code);
      else expect(answer).toHaveProperty("findings");
      await stillWorks(language);
    },
  );
});

describe("threads", () => {
  const loops = { pattern: "^(a+)+$" };
  const evil = `${"a".repeat(64)}!`;

  it("[VAL-03] that a pattern keeps busy are ended, and leave the event loop free", async () => {
    let turns = 0;
    const ticking = setInterval(() => (turns += 1), 10);
    expect(await codeOf(validation.json(evil, loops))).toBe("timeout");
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(3);
    expect((await validation.json("aaa", loops)).valid).toBe(true);
  });

  it("that run out of memory are ended", async () => {
    const data = Array.from({ length: 400_000 }, () => 1);
    const failing = { items: { allOf: Array.from({ length: 40 }, () => ({ type: "string" })) } };
    expect(["too_large", "timeout"]).toContain(await codeOf(validation.json(data, failing)));
    expect((await validation.json([1], {})).valid).toBe(true);
  });

  it("are awaited by a bounded queue", async () => {
    const asked = validationLimits.workers + validationLimits.queued + 1;
    await using busy = new CodeAndDataValidation({ taskMs: 60_000, idleMs: 60_000 });
    const gone = new AbortController();
    const answers = Array.from({ length: asked }, (_, index) =>
      codeOf(busy.for(`owner ${index % 3}`).json(evil, loops, gone.signal)),
    );
    expect(await answers.at(-1)).toBe("unavailable");
    const reason = new AppError("invalid", "the client closed the connection");
    gone.abort(reason);
    expect(new Set(await Promise.all(answers.slice(0, -1)))).toEqual(new Set(["invalid"]));
    expect((await busy.json("aaa", loops)).valid).toBe(true);
  });

  it("end what waits for them when validation ends", async () => {
    const ended = new CodeAndDataValidation({ taskMs: 60_000, idleMs: 60_000 });
    const answer = codeOf(ended.json(evil, loops));
    await ended[Symbol.asyncDispose]();
    expect(await answer).toBe("unavailable");
    expect(await codeOf(ended.json(1, {}))).toBe("unavailable");
  });
});
