import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, vi } from "vitest";
import { jsonLimits } from "../../packages/server/src/core/json-limits.ts";
import { makeDataFolder } from "../data-folder.ts";
import { root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import type { Era } from "./client.ts";

export interface StdioHome extends AsyncDisposable {
  home: string;
  /** What `caisson mcp` is told by its environment here. */
  variables: Record<string, string>;
}

/** A data folder for `caisson mcp` without a daemon; disposing checks that nothing was left behind. */
export async function openStdioHome(engine: string): Promise<StdioHome> {
  const home = await makeDataFolder("/var/tmp/caisson-stdio-");
  const variables = { CAISSON_HOME: home, CAISSON_ENGINE: engine, CAISSON_MAX_STORAGE_MB: "64" };
  return {
    home,
    variables,
    [Symbol.asyncDispose]: async () => {
      await vi.waitFor(() => expect([...findLeaks(home), ...ownedFolders(home)]).toEqual([]), 30_000);
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** What processes keep to themselves while they serve. */
export function ownedFolders(home: string): string[] {
  const folder = join(home, "stdio");
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** A message of more values than any that is read. */
export const crowd = `{"jsonrpc":"2.0","id":0,"method":"ping","params":[${"1,".repeat(jsonLimits.data.values)}1]}`;

/** The first message of a client of 2025-11-25. */
export const initialize = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
});

/** Sends lines to `caisson mcp`, and returns as many answers. */
export async function tellRaw(variables: Record<string, string>, lines: readonly string[]): Promise<unknown[]> {
  const env = { PATH: path, ...variables };
  const child = spawn(join(root, "caisson"), ["mcp"], { env, stdio: ["pipe", "pipe", "inherit"] });
  for (const line of lines) child.stdin.write(`${line}\n`);
  const answers: unknown[] = [];
  for await (const line of createInterface(child.stdout)) {
    answers.push(JSON.parse(line));
    if (answers.length === lines.length) child.stdin.end();
  }
  return answers;
}

const path = process.env.PATH ?? "";

/** A client of the official SDK that starts `caisson mcp`. */
export async function connectStdio(
  variables: Record<string, string>,
  era: Era,
  { args = ["mcp", "--tools", "all"], capabilities = {} }: { args?: string[]; capabilities?: object } = {},
): Promise<{ client: Client; transport: StdioClientTransport; told: () => string }> {
  const mode = era === "2025-11-25" ? "legacy" : { pin: era };
  const client = new Client({ name: "test", version: "1" }, { capabilities, versionNegotiation: { mode } });
  const env = { PATH: path, ...variables };
  const transport = new StdioClientTransport({ command: join(root, "caisson"), args, env, stderr: "pipe" });
  let told = "";
  transport.stderr?.on("data", (text: Buffer) => {
    told += text;
  });
  return { client, transport, told: () => told };
}
