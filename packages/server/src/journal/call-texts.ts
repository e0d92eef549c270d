import type { AuditContent, ContentPolicy } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import type { Redactor } from "../core/redaction.ts";
import type { CallVerdict } from "../core/tool-call.ts";
import { auditLimits } from "../store/limits.ts";

/** Arguments and result of a call, as JSON text. */
export interface CallTexts {
  arguments: string;
  result: string;
}

const refusals = ["invalid", "not_found", "conflict", "too_large", "limit_exceeded", "unsupported"];

export function verdictOf(error: unknown): CallVerdict {
  if (!(error instanceof AppError)) return "error";
  if (error.code === "forbidden" || error.code === "unauthenticated") return "denied";
  return refusals.includes(error.code) ? "refused" : "error";
}

export function textOf(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

/** The result of a call that failed, as far as its caller sees it. */
export function failureText(error: unknown): string {
  return textOf(error instanceof AppError ? { error: error.code, message: error.message } : { error: "internal" });
}

/** What of a call is kept beside its entry. */
export function contentOf(
  { arguments: given, result }: CallTexts,
  kind: Exclude<ContentPolicy, "none">,
  redactors: readonly Redactor[],
): AuditContent {
  const masks = kind === "full" ? [] : redactors;
  const [first, second] = [beginning(given, masks), beginning(result, masks)];
  return { kind, arguments: first.text, result: second.text, truncated: first.isCut || second.isCut };
}

/** As much of a text as is kept, masked. Streams hold back what may be the start of a value, so none is cut in two. */
function beginning(text: string, redactors: readonly Redactor[]): { text: string; isCut: boolean } {
  const most = auditLimits.contentPartBytes;
  const bytes = Buffer.from(text);
  const streams = redactors.map((redactor) => redactor.stream("mark"));
  let shown: Buffer = Buffer.alloc(0);
  let at = 0;
  while (at < bytes.length && shown.length <= most) {
    let pieces: Buffer[] = [bytes.subarray(at, at + most)];
    at += most;
    for (const stream of streams) {
      pieces = pieces.flatMap((piece) => stream.push(piece));
      if (at >= bytes.length) pieces.push(...stream.end());
    }
    shown = Buffer.concat([shown, ...pieces]);
  }
  const isCut = at < bytes.length || shown.length > most;
  return { text: new TextDecoder().decode(shown.subarray(0, most)), isCut };
}
