import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";

/** What a command that has to succeed wrote. */
export async function mustRun(sandbox: Sandbox, command: string): Promise<string> {
  const result = await sandbox.exec({ command });
  if (result.exit_code !== 0) throw new Error(`${command}: ${result.stderr}`);
  return result.stdout;
}
