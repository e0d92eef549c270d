import type { Configuration } from "../../config/config.ts";
import type { Environment } from "../../config/env.ts";
import { defined } from "../../lib/defined.ts";
import type { RunIo } from "../run.ts";
import { unknownInGroup } from "../unknown-command.ts";
import { connect, toAppError } from "./connect.ts";
import { parseVerb, verbHelpText } from "./verb.ts";
import { clientVerbs, findVerb, verbsUnder } from "./verbs.ts";

type Load = (plan: { configFile?: string }) => Promise<Configuration>;

/** Undefined if the words name no verb. */
export async function askDaemon(
  words: readonly string[],
  environment: Environment,
  load: Load,
  io: RunIo,
): Promise<number | undefined> {
  const found = findVerb(words);
  if (found === undefined) return explainGroup(words, io);
  const { name, verb, rest } = found;
  const options = parseVerb(name, verb, rest);
  if (options === undefined) {
    io.stdout.write(verbHelpText(name, verb));
    return 0;
  }
  const call = { options, words: options.rest, json: options.flag("json"), io };
  const done = await verb.alone?.(call);
  if (done !== undefined) return done;
  const configFile = options.text("config");
  const configuration = await load(configFile === undefined ? {} : { configFile });
  try {
    const caisson = await connect(
      configuration,
      environment.variables,
      defined({ namespace: options.text("namespace"), priority: options.number("priority") }),
    );
    return await verb.run({ caisson, ...call });
  } catch (error) {
    throw toAppError(error);
  }
}

/** Undefined if the words name no verb. */
export function clientHelpText(words: readonly string[]): string | undefined {
  const found = findVerb(words);
  if (found !== undefined) return verbHelpText(found.name, found.verb);
  const [group = "", word] = words;
  const names = verbsUnder(group);
  if (names.length === 0) return undefined;
  if (word !== undefined) throw unknownInGroup(group, word, names);
  return groupHelpText(names);
}

function groupHelpText(names: readonly string[]): string {
  const lines = names.map((name) => [`caisson ${name} ${clientVerbs[name]?.usage ?? ""}`.trimEnd(), name] as const);
  const width = Math.max(...lines.map(([line]) => line.length)) + 2;
  const rows = lines.map(([line, name]) => `${line.padEnd(width)}${clientVerbs[name]?.summary ?? ""}`);
  return `usage: ${rows.join("\n       ")}\n\nRun caisson help COMMAND for options and examples, such as caisson help ${names[0]}.\n`;
}

/** `caisson keys` without a command, or with an unknown one. */
function explainGroup([group = "", word]: readonly string[], io: RunIo): number | undefined {
  const names = verbsUnder(group);
  if (names.length === 0) return undefined;
  if (word !== undefined && word !== "--help" && word !== "-h") throw unknownInGroup(group, word, names);
  io.stdout.write(groupHelpText(names));
  return word === undefined ? 2 : 0;
}
