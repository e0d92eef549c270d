/** What daemon and the host's process say to each other: JSON, one message a line. Each end takes the other's words as a stranger's. */
import { z } from "zod";
import { AppError, errorCodes } from "../core/errors.ts";
import { hostLimits } from "./limits.ts";

const path = z.string().max(hostLimits.pathBytes);
const whole = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const base64 = z.string().max(hostLimits.messageBytes);

/** A closed list: each verb with what it takes and what it gives. */
export const verbs = {
  hello: { takes: z.strictObject({}), gives: z.strictObject({ version: z.literal(1) }) },
  exec: {
    takes: z.strictObject({
      argv: z.array(z.string().max(hostLimits.commandBytes)).min(1).max(hostLimits.words),
      timeoutMs: z.number().min(hostLimits.timeoutMs.min).max(hostLimits.timeoutMs.max),
      approved: z.string().max(hostLimits.patternChars).optional(),
    }),
    gives: z.strictObject({
      exit_code: z.number().int().nullable(),
      signal: z.string().max(32).nullable(),
      stdout: z.string(),
      stderr: z.string(),
      stdout_truncated: z.boolean(),
      stderr_truncated: z.boolean(),
      timed_out: z.boolean(),
      duration_ms: z.number(),
    }),
  },
  read: {
    takes: z.strictObject({ path, offset: whole, length: whole.max(hostLimits.fileBytes) }),
    gives: z.strictObject({ bytes: base64, sizeBytes: whole, version: z.string().max(200) }),
  },
  write: {
    takes: z.strictObject({ path, bytes: base64 }),
    gives: z.strictObject({ created: z.boolean() }),
  },
  list: {
    takes: z.strictObject({ path }),
    gives: z.strictObject({
      entries: z
        .array(
          z.strictObject({
            name: z.string().max(1_024),
            type: z.enum(["file", "folder", "link", "other"]),
            size_bytes: z.number(),
            modified_at: z.iso.datetime(),
          }),
        )
        .max(hostLimits.entries),
      truncated: z.boolean(),
    }),
  },
} as const;

export type HandVerb = keyof typeof verbs;
export type Takes<V extends HandVerb> = z.output<(typeof verbs)[V]["takes"]>;
export type Gives<V extends HandVerb> = z.output<(typeof verbs)[V]["gives"]>;

const number = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

export const toHand = z.union([
  z.strictObject({ n: number, verb: z.enum(Object.keys(verbs) as [HandVerb, ...HandVerb[]]), args: z.unknown() }),
  z.strictObject({ cancel: number }),
]);

const problem = z.strictObject({
  code: z.enum(errorCodes),
  message: z.string().max(8_192),
  hint: z.string().max(8_192).optional(),
  retryAfterMs: z.number().min(0).optional(),
});

export const fromHand = z.union([
  z.strictObject({ n: number, ok: z.unknown() }),
  z.strictObject({ n: number, error: problem }),
]);

export function toProblem(error: unknown): z.output<typeof problem> {
  if (!(error instanceof AppError)) return { code: "internal", message: "the host's process failed" };
  const { code, message, hint, retryAfterMs } = error;
  return {
    code,
    message: message.slice(0, 8_192),
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

export function toError({ code, message, hint, retryAfterMs }: z.output<typeof problem>): AppError {
  return new AppError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
