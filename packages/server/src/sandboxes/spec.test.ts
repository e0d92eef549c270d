import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, describe as group, it } from "vitest";
import { approvalLimits } from "../approvals/limits.ts";
import { type CommandDraft, type ContextUse, sharedContext, textOf, toCommand, type What } from "../core/command.ts";
import { requestLimits } from "../core/limits.ts";
import { defined } from "../lib/defined.ts";
import { limitsOf } from "./command-limits.ts";
import { describe } from "./fleet/describe-command.ts";
import { type SpecSandbox, toSpec } from "./spec.ts";

const MiB = 1024 ** 2;
const sandbox = {
  environment: { HOME: "/home/user" },
  folder: "/workspace",
  processSlack: 2,
  runsWatchMemory: true,
  warm: true,
  runLimits: {},
  background: { allowed: true, mostMs: requestLimits.processTimeMs.max },
  limits: { memoryBytes: 512 * MiB, cpus: 1, cpuShares: 1024, processes: 64, storageBytes: 64 * MiB },
} satisfies SpecSandbox;

/** Few words that are easily taken for each other, so that descriptions would meet if they could. */
const word = fc.constantFrom("a", "b", "a b", "'a' b", "'", '"', "A=a", "a B=b", "\n", "é", "0", "true");
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });
const uses: ContextUse[] = [
  sharedContext,
  { id: "python-1" },
  { id: "python-2" },
  { id: "python-1", cwd: "a" },
  { id: "python-1", env: { A: "a" } },
  { id: "python-1", limits: { memoryBytes: 64 * MiB } },
  { id: "python-1", limits: { memoryBytes: 65 * MiB, processes: 2 } },
];
const context = maybe(fc.constantFrom(...uses));
const what: fc.Arbitrary<What> = fc.oneof(
  fc.record({ argv: fc.array(word, { minLength: 1, maxLength: 3 }) }),
  fc.record({ line: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(" ")) }),
  fc
    .record({ code: word, language: fc.constantFrom("python", "node", "shell" as const), context })
    .map(({ context, ...code }) => (context === undefined ? code : { ...code, context })),
  fc.record({ interpreter: fc.constantFrom("python", "node" as const) }),
);
const bytes = fc.constantFrom("", "a", "\ufeffa", "true").map((text) => new TextEncoder().encode(text));
const fields = {
  what,
  as: fc.constantFrom("run", "process", "terminal" as const),
  cwd: maybe(word),
  env: fc.dictionary(fc.constantFrom("A", "B", "A B", "'B"), word, { maxKeys: 3 }),
  stdin: maybe(fc.oneof(bytes, fc.constant(Uint8Array.of(0xff)), fc.constant("stream" as const))),
  terminal: maybe(fc.record({ rows: fc.constantFrom(1, 11), columns: fc.constantFrom(1, 11) })),
  domains: fc.array(fc.constantFrom("a.example", "b.example", "a.example b.example"), { maxLength: 2 }),
  limits: fc.record(
    {
      timeoutMs: fc.constantFrom(1_000, 1_001),
      cpuTimeMs: fc.constantFrom(1_000, 1_001),
      processes: fc.constantFrom(1, 2),
      outputBytes: fc.constantFrom(1_000, 1_001),
      memoryBytes: fc.constantFrom(64 * MiB, 64 * MiB + 1),
      cpus: fc.constantFrom(1, 2),
    },
    { requiredKeys: [] },
  ),
};
const names = Object.keys(fields) as (keyof typeof fields)[];
/** Without what a command of its kind cannot have. */
function valid(draft: CommandDraft): CommandDraft {
  const { what, limits: { timeoutMs, cpuTimeMs, outputBytes, memoryBytes, processes, cpus } = {}, ...rest } = draft;
  const times = defined({ timeoutMs, cpuTimeMs, cpus });
  const sizes = defined({ memoryBytes, processes, cpus });
  if ("interpreter" in what) return { ...rest, what, as: "context", limits: sizes };
  const as = draft.as === "context" ? "run" : draft.as;
  if ("code" in what && what.context !== undefined)
    return {
      ...rest,
      what,
      as: "run",
      cwd: undefined,
      env: undefined,
      limits: { ...times, ...defined({ outputBytes }) },
    };
  const output = as === "process" ? {} : defined({ outputBytes });
  return { ...rest, what, as, limits: { ...times, ...sizes, ...output } };
}
const drafts: fc.Arbitrary<CommandDraft> = fc.record(fields).map(valid);

/** Everything that the guest, the host's guards and the gate get of a command. */
function runs(draft: CommandDraft) {
  const command = toCommand(draft);
  const { what, stdin, domains, limits } = command;
  const started = "code" in what && what.context !== undefined ? { what, limits } : toSpec(sandbox, command);
  const input = stdin === "stream" ? stdin : stdin && [...stdin];
  return { started, input, domains, guarded: limitsOf(sandbox, command) };
}

/** Commands that a careless description would not tell from this one. */
function lookalikes(draft: CommandDraft): CommandDraft[] {
  const text = textOf(draft);
  const [first, ...others] = Object.entries(draft.env ?? {});
  const joined = first && { [first[0]]: [first[1], ...others.map((one) => one.join("="))].join(" ") };
  const { stdin } = draft;
  return [
    { ...draft, what: { line: text } },
    { ...draft, what: { argv: text === "" ? ["true"] : text.split(" ") } },
    { ...draft, what: { code: text, language: "shell" } },
    { ...draft, env: joined },
    { ...draft, domains: [(draft.domains ?? []).join(" ")] },
    { ...draft, stdin: stdin && stdin !== "stream" ? Buffer.from(Buffer.from(stdin).toString("base64")) : stdin },
  ];
}

/** The rule and the categories stand beside a description. */
const decidedRows = 2;

/** Whatever the prototypes of their parts. */
const same = (one: unknown, other: unknown) => isDeepStrictEqual(structuredClone(one), structuredClone(other));

group("a command", () => {
  it("[S106] runs the same as every command that has its description", () => {
    const parts = fc.subarray(names, { maxLength: 2 });
    fc.assert(
      fc.property(drafts, drafts, parts, (one, another, changed) => {
        const changes = Object.fromEntries(changed.map((name) => [name, another[name]]));
        for (const other of [{ ...one, ...changes }, ...lookalikes(one)].map(valid))
          if (same(describe(toCommand(one)), describe(toCommand(other)))) expect(runs(other)).toEqual(runs(one));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each(names)("[S106] has another description with another %s", (name) => {
    fc.assert(
      fc.property(drafts, fields[name] as fc.Arbitrary<unknown>, (one, value) => {
        const other = valid({ ...one, [name]: value });
        const isKept = same(one, { ...other, [name]: one[name] }); // nothing else had to change with it
        fc.pre(isKept && !same(one, other));
        expect(describe(toCommand(one))).not.toEqual(describe(toCommand(other)));
      }),
      { numRuns: 1_000 },
    );
  });

  it("has a description that a question to a human has room for", () => {
    const { details, detailNameChars } = approvalLimits;
    fc.assert(
      fc.property(drafts, (draft) => {
        const rows = Object.keys(describe(toCommand(draft)).detail);
        expect(rows.length + decidedRows).toBeLessThanOrEqual(details);
        expect(rows.every((name) => name.length <= detailNameChars)).toBe(true);
      }),
    );
  });

  it("is described alike for every run, in whatever order its variables are named", () => {
    const [one, other] = [
      { A: "1", B: "2" },
      { B: "2", A: "1" },
    ].map((env) => toCommand({ what: { line: "env" }, env }));
    expect(describe(one as never)).toEqual(describe(other as never));
    expect(one?.id).not.toBe(other?.id);
  });
});
