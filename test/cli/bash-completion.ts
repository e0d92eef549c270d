import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { completion } from "../../packages/server/src/cli/completion.ts";
import { root } from "../harness.ts";

const run = promisify(execFile);
/** On a busy machine an answer may take more than the seconds that a shell waits. */
const patient = `timeout() { shift; "$@"; }`;
const call = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _caisson; printf "%s\\n" "\${COMPREPLY[@]}"`;

/** What bash offers in a folder for the last of these words, in order. */
export async function bashOffers(
  folder: string,
  words: readonly string[],
  variables: Record<string, string>,
): Promise<string[]> {
  const all = [join(root, "caisson"), ...words];
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("CAISSON_"));
  const env = { ...Object.fromEntries(others), ...variables };
  const script = [completion(["bash"]), patient, call].join("\n");
  const { stdout, stderr } = await run("bash", ["-c", script, "bash", ...all], { cwd: folder, env });
  if (stderr !== "") throw new Error(stderr);
  return stdout.split("\n").filter(Boolean).sort();
}
