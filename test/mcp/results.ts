import type { Client } from "@modelcontextprotocol/client";
import { expect } from "vitest";

type Called = Awaited<ReturnType<Client["callTool"]>>;

// biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for
export function resultOf({ isError, structuredContent, content }: Called): any {
  expect(isError ?? false, JSON.stringify(content)).toBe(false);
  return structuredContent;
}

export function refusalOf({ isError, content }: Called): { error: string; message: string; hint?: string } {
  expect(isError).toBe(true);
  const [first] = content;
  const text = first?.type === "text" ? first.text : "";
  return JSON.parse(text);
}
