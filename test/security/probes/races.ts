import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Holder } from "../host-run.ts";
import type { Ground, Probe } from "../probe.ts";
import { holdInSandbox, runProgramOnHost } from "../program-probe.ts";
import { given, readText } from "./files-api.ts";

const section = "Host files";
/** So long, and so often however slow the machine is. */
const swapMs = 1500;
const leastRounds = 5;
const swapMostMs = 60_000;

let swaps = 0;
/** After an odd number of swaps the names lie the other way round: each race takes new ones. */
const nextName = () => `swapped-${++swaps}`;

/**
 * While a folder with one file and a link to another folder, with a file of the same name, change places, the action is
 * repeated with the folder's name.
 */
async function whileSwapping(
  ground: Ground,
  target: string,
  action: (name: string) => Promise<string | null>,
): Promise<string | null> {
  const { sandbox, stage } = ground;
  const name = nextName();
  const words = stage.fill(["lay-swap", name, `${name}-link`, target, "secret", "harmless"]);
  const laid = await sandbox.exec({ command: ["/workspace/probe", ...words], trackFiles: false });
  if (laid.exit_code !== 0) throw new Error(`no swap: ${laid.stdout}`);
  await using swapper = await holdInSandbox(sandbox, ["swap", name, `${name}-link`, String(swapMostMs)]);
  let hasEnded = false;
  void swapper.result.finally(() => {
    hasEnded = true;
  });
  const beganMs = performance.now();
  for (let rounds = 0; rounds < leastRounds || performance.now() - beganMs < swapMs; rounds++) {
    if (hasEnded) throw new Error(`only ${rounds} rounds: the race was not tried`);
    const effect = await action(name);
    if (effect !== null) return effect;
  }
  return null;
}

/** File calls are answered inside the sandbox, which cannot see the host's folder: theirs lies beside the workspace. */
const outside = "/home/user/outside";
const outsideText = "text from outside";

async function layOutside({ sandbox }: Ground): Promise<void> {
  const command = `mkdir -p ${outside} && printf '${outsideText}' >${outside}/secret`;
  const laid = await sandbox.exec({ command, trackFiles: false });
  if (laid.exit_code !== 0) throw new Error(`no folder outside: ${laid.stderr}`);
}

/** The reader that must not be: as root, by path, a check and then an open. */
async function readNaively(folder: string, token: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    if (text.includes(token)) return true;
  }
  return false;
}

/** The same swap on the host fools a reader that goes by path. */
const fooledReader: Probe["twin"] = {
  where: "on the host against a reader that goes by path",
  attempt: async ({ stage }) => {
    const folder = join(stage.folder, nextName());
    await runProgramOnHost(stage, ["lay-swap", folder, `${folder}-link`, "{canaryFolder}", "secret", "harmless"]);
    await using _swapper = await Holder.start(
      stage.fill([stage.program, "swap", folder, `${folder}-link`, String(swapMs)]),
    );
    for (const end = performance.now() + swapMs; performance.now() < end; )
      if (await readNaively(folder, stage.token).catch(() => false)) return "a secret by path";
    return null;
  },
};

export const races: readonly Probe[] = [
  {
    section,
    claim: "have a file call follow a folder that turns into a link to the outside",
    attempt: async (ground) => {
      await layOutside(ground);
      return whileSwapping(ground, outside, async (name) => {
        const text = await given(readText(ground.sandbox, `${name}/secret`));
        return text?.includes(outsideText) ? "a file outside the workspace" : null;
      });
    },
    twin: fooledReader,
  },
  {
    section,
    claim: "have files_changed follow a folder that turns into a link to the host",
    attempt: async (ground) => {
      const secret = await readFile(ground.stage.values.canary ?? "");
      const hash = createHash("sha256").update(secret).digest("hex");
      return whileSwapping(ground, "{canaryFolder}", async () => {
        const result = await ground.sandbox.exec({ command: ["/bin/true"], trackFiles: true });
        return result.files_changed.some((change) => change.sha256 === hash) ? "the hash of a secret" : null;
      });
    },
    twin: fooledReader,
  },
  {
    section,
    claim: "have a write land where a link to the outside has taken a folder's place",
    attempt: async (ground) => {
      await layOutside(ground);
      const effect = await whileSwapping(ground, outside, async (name) => {
        await given(ground.sandbox.files.write(`${name}/written`, ground.stage.mark));
        return null;
      });
      const found = await ground.sandbox.exec({ command: `ls -A ${outside}`, trackFiles: false });
      return found.stdout === "secret\n" ? effect : `files outside the workspace: ${found.stdout}`;
    },
    twin: fooledReader,
  },
];
