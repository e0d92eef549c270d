import { expect } from "vitest";
import type { ContextRunResult } from "../../../packages/server/src/core/context.ts";

export interface Attack {
  title: string;
  code: string;
  timeoutMs?: number;
  memoryBytes?: number;
  /** What the attacker itself gets. */
  seen: (result: ContextRunResult) => void;
  /** Whether its own context still answers afterwards; not looked at where that may be so or not. */
  lives?: boolean;
}

export const ended = (reason: string) => (result: ContextRunResult) =>
  expect(result.ended?.reason, JSON.stringify(result).slice(0, 2000)).toContain(reason);
export const failed = (name: string) => (result: ContextRunResult) => expect(result.error?.name).toBe(name);
export const shown = (text: string) => (result: ContextRunResult) =>
  expect(result.results.map((one) => one.text)).toEqual([text]);
export const settled = (result: ContextRunResult) => expect(result.duration_ms).toBeGreaterThan(0);
