import type { z } from "zod";
import type { Caller } from "../core/principal.ts";
import type { Scope } from "../core/scope.ts";
import type { ToolParts } from "./tool-parts.ts";

/** Groups of tools that a client chooses from, so that a model is not flooded. `core` unless told. */
export const toolSets = ["core", "sessions", "files", "data", "web", "host", "admin"] as const;
export type ToolSet = (typeof toolSets)[number];

/** What a tool shows beside its structured result. */
export type ToolContent =
  | { type: "text"; text: string }
  | { type: "image"; mimeType: string /** Base64. */; data: string }
  | { type: "resource_link"; uri: string; name: string; mimeType?: string; size?: number };

export interface ToolResult<Output> {
  structured: Output;
  /** Shown beside it. Clients that know no structured results get that as text, before this. */
  content?: readonly ToolContent[];
}

/** One call, as a door sees it. */
export interface ToolCall {
  caller: Caller;
  parts: ToolParts;
  /** Aborted when the client cancels or goes away: what was started for it ends. */
  signal: AbortSignal;
  /** The key of the session that is meant where none is named. */
  session: string;
  /** Told of the sandbox that the call works in, as soon as that is known. */
  using?(sandboxId: string): void;
  /**
   * Where questions of this call are put to a user who may answer them at once: aborted when that one is answered, or will
   * not be by that user.
   */
  answering?(approvalId: string): AbortSignal;
  /** What goes on meanwhile, where somebody watches. Never waits. */
  progress?(message: string): void;
}

/** What clients may assume of a tool; hints, as the protocol has them. */
interface ToolHints {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

interface ToolShape<Input extends z.ZodType, Output extends z.ZodType> {
  name: string;
  title: string;
  sets: readonly [ToolSet, ...ToolSet[]];
  scope: Scope;
  /** For models: when to use it, what comes back, what to do on refusal. */
  description: string;
  hints: ToolHints;
  /** It only ends or deletes, and so works while the audit log has no room for more. */
  ends?: true;
  input: Input;
  /** Fields of the input that hold data of any form. */
  data?: readonly string[];
  output: Output;
  run(call: ToolCall, input: z.output<Input>): Promise<ToolResult<z.input<Output>>>;
}

/** A tool as doors see it. */
export type Tool = ToolShape<z.ZodType<object>, z.ZodType<object, object>>;

export function defineTool<Input extends z.ZodType<object>, Output extends z.ZodType<object, object>>(
  tool: ToolShape<Input, Output>,
): Tool {
  return tool as unknown as Tool;
}
