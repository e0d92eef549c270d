import { type Command, toCommand } from "../../core/command.ts";
import type { CommandHandle } from "../../core/command-handle.ts";
import { AppError } from "../../core/errors.ts";
import { webLimits } from "../limits.ts";
import { browserLimits } from "./limits.ts";
import { type Failed, readAnswer, type Shown } from "./read-answer.ts";

export const contentForms = ["markdown", "text", "html"] as const;
type ContentForm = (typeof contentForms)[number];

export interface BrowserRequest {
  url: URL;
  /** A CSS selector: an element of it is there and shown. */
  waitFor?: string;
  timeoutMs: number;
  form: ContentForm;
  picture: "none" | "window" | "whole";
  signal: AbortSignal;
}

/** native/guest/kernels/browser.py, which is in every sandbox. */
const program = ["python3", "-I", "/.caisson/kernels/browser.py"] as const;

export function commandOf(request: BrowserRequest): Command {
  const { aroundMs, settleMs, nodes, width, height, wholeHeight, pictureBytes, cpus } = browserLimits;
  const asked = {
    wait_for: request.waitFor ?? null,
    timeout_ms: request.timeoutMs,
    settle_ms: settleMs,
    form: request.form,
    characters: webLimits.htmlCharacters,
    nodes,
    picture: request.picture,
    picture_bytes: pictureBytes,
    ...{ width, height, whole_height: wholeHeight },
  };
  const timeoutMs = request.timeoutMs + aroundMs;
  return toCommand({
    what: { argv: [...program, request.url.href] },
    stdin: Buffer.from(JSON.stringify(asked)),
    limits: { timeoutMs, cpuTimeMs: timeoutMs * cpus, outputBytes: mostBytes },
  });
}

/** Opens a page, with a browser that is there for it alone. */
export async function drive(sandbox: CommandHandle, signal: AbortSignal): Promise<Failed | Shown> {
  const result = await sandbox.run({ trackFiles: false, signal });
  if (result.oom_killed) throw tooMuch();
  if (result.timed_out || result.cpu_limit) throw new AppError("timeout", "the browser did not end in time");
  if (result.exit_code === 127)
    throw new AppError("unsupported", "the image browser has no Python", { hint: "see docs/web.md" });
  return readAnswer(result.stdout);
}

/** Base64 of the picture, and content of which each character may be four bytes. */
const mostBytes = Math.ceil((browserLimits.pictureBytes * 4) / 3) + webLimits.htmlCharacters * 4 + 131_072;

function tooMuch(): AppError {
  const megabytes = browserLimits.memoryBytes / 1024 ** 2;
  return new AppError("too_large", `this page needs more memory than the browser has (${megabytes} MB)`, {
    hint: "fetch_webpage reads it without running its scripts",
  });
}
