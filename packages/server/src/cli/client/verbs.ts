import { approvalVerbs } from "./approvals.ts";
import { artifactVerbs } from "./artifacts.ts";
import { checkpointVerbs } from "./checkpoints.ts";
import { daemonVerbs } from "./daemon.ts";
import { deployVerbs } from "./deploy.ts";
import { egressVerbs } from "./egress.ts";
import { envVerbs } from "./env.ts";
import { execVerbs } from "./exec.ts";
import { fileVerbs } from "./files.ts";
import { forkVerbs } from "./fork.ts";
import { gcVerbs } from "./gc.ts";
import { hostVerbs } from "./host.ts";
import { imageSourceVerbs } from "./image-sources.ts";
import { imageVerbs } from "./images.ts";
import { keyVerbs } from "./keys.ts";
import { packageVerbs } from "./packages.ts";
import { portVerbs } from "./ports.ts";
import { processVerbs } from "./processes.ts";
import { sandboxVerbs } from "./sandboxes.ts";
import { serverVerbs } from "./servers.ts";
import { sessionVerbs } from "./sessions.ts";
import { runVerbs } from "./show-run.ts";
import { skillVerbs } from "./skills.ts";
import { snapshotVerbs } from "./snapshots.ts";
import { templateVerbs } from "./templates.ts";
import { toolVerbs } from "./tools.ts";
import { validationVerbs } from "./validate.ts";
import { vaultVerbs } from "./vault.ts";
import type { Verb } from "./verb.ts";
import { verifyVerbs } from "./verify.ts";
import { webVerbs } from "./web.ts";
import { webhookVerbs } from "./webhooks.ts";

/** Every command that calls a daemon, in the order of the help text. */
export const clientVerbs: Readonly<Record<string, Verb>> = {
  ...sandboxVerbs,
  ...forkVerbs,
  ...checkpointVerbs,
  ...execVerbs,
  ...runVerbs,
  ...processVerbs,
  ...fileVerbs,
  ...portVerbs,
  ...snapshotVerbs,
  ...skillVerbs,
  ...packageVerbs,
  ...imageVerbs,
  ...imageSourceVerbs,
  ...templateVerbs,
  ...deployVerbs,
  ...serverVerbs,
  ...artifactVerbs,
  ...verifyVerbs,
  ...egressVerbs,
  ...daemonVerbs,
  ...gcVerbs,
  ...sessionVerbs,
  ...keyVerbs,
  ...vaultVerbs,
  ...envVerbs,
  ...webhookVerbs,
  ...approvalVerbs,
  ...hostVerbs,
  ...validationVerbs,
  ...toolVerbs,
  ...webVerbs,
};

/** Other words for `rm`, alone or after the name of a group. `kill` alone ends a process. */
const removals = ["delete", "del", "remove", "destroy", "revoke", "unset", "kill"];

/** Accepted in place of each other, so that people need not remember which one a group has. */
const usual: Readonly<Record<string, string>> = {
  ls: "list",
  list: "ls",
  ...Object.fromEntries(removals.map((word) => [word, "rm"])),
};

/** Other names that people try. */
const others: Readonly<Record<string, string>> = { "egress add": "egress", "egress allow": "egress" };

/** The verb at the start of the words, two words before one, and the words after it. */
export function findVerb(words: readonly string[]): { name: string; verb: Verb; rest: string[] } | undefined {
  const [first = "", second = ""] = words;
  const [one, two] = [first, second].map((word) => (Object.hasOwn(usual, word) ? usual[word] : word));
  const pair = `${first} ${second}`;
  for (const [name, length] of [
    [Object.hasOwn(others, pair) ? (others[pair] ?? pair) : pair, 2],
    [`${first} ${two}`, 2],
    [first, 1],
    [one ?? first, 1],
  ] as const) {
    const verb = Object.hasOwn(clientVerbs, name) ? clientVerbs[name] : undefined;
    if (verb !== undefined) return { name, verb, rest: words.slice(length) };
  }
  return undefined;
}

/** The name of a verb and its other spellings. */
export function spellings(name: string): string[] {
  const words = name.split(" ");
  const last = words.at(-1) ?? "";
  const spelled = Object.keys(usual).filter((word) => usual[word] === last);
  const names = spelled.map((word) => [...words.slice(0, -1), word].join(" "));
  const more = Object.keys(others).filter((other) => others[other] === name);
  return [name, ...names.filter((other) => !Object.hasOwn(clientVerbs, other)), ...more];
}

/** Names of the verbs in a group such as `keys`. */
export function verbsUnder(word: string): string[] {
  return Object.keys(clientVerbs).filter((name) => name.startsWith(`${word} `));
}
