import { AppError } from "../core/errors.ts";
import { languages } from "../core/language.ts";
import { engineChoices } from "../core/request.ts";
import { auditOptionSpecs } from "./audit-options.ts";
import { optionsOf } from "./client/verb.ts";
import { clientVerbs } from "./client/verbs.ts";
import { commands } from "./help.ts";
import { mcpOptionSpecs, serveOptionSpecs } from "./mcp/options.ts";
import { type OptionSpecs, parseOptions } from "./options.ts";
import { helpOption, reportOptionSpecs } from "./report-options.ts";
import { runOptionSpecs } from "./run-options.ts";
import { runsOptionSpecs } from "./runs.ts";
import { shellOptionSpecs } from "./shell-options.ts";
import { upOptionSpecs } from "./up-options.ts";

/** Verbs by their first word, which of `keys create` is `keys`. */
const groups = Map.groupBy(Object.entries(clientVerbs), ([name]) => name.split(" ")[0] ?? "");
const summaries: Record<string, string> = {
  ...commands,
  ...Object.fromEntries([...groups].map(([word, verbs]) => [word, verbs.map(([, { summary }]) => summary).join("; ")])),
};
const names = Object.keys(summaries).join(" ");
const specs: Record<string, OptionSpecs> = {
  run: runOptionSpecs,
  shell: shellOptionSpecs,
  up: upOptionSpecs,
  down: reportOptionSpecs,
  status: reportOptionSpecs,
  runs: runsOptionSpecs,
  doctor: reportOptionSpecs,
  config: reportOptionSpecs,
  ...Object.fromEntries(
    [...groups].map(([word, verbs]) => [word, Object.assign({}, ...verbs.map(([, verb]) => optionsOf(verb)))]),
  ),
  audit: auditOptionSpecs,
  mcp: mcpOptionSpecs,
  serve: serveOptionSpecs,
};
const words = (options: OptionSpecs) =>
  Object.keys(options)
    .map((name) => `--${name}`)
    .join(" ");
const cases = Object.entries(specs).map(([verb, options]) => `${verb}) options="${words(options)}" ;;`);

const bash = `_caisson() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  case $before in
    --engine|-e) COMPREPLY=($(compgen -W "${engineChoices.join(" ")}" -- "$word")); return ;;
    --language|-l) COMPREPLY=($(compgen -W "${languages.join(" ")}" -- "$word")); return ;;
    --config) COMPREPLY=($(compgen -f -- "$word")); return ;;
    --input|--output) COMPREPLY=($(compgen -d -- "$word")); return ;;
  esac
  local options=
  case \${COMP_WORDS[1]} in ${cases.join(" ")} esac
  if [ "$COMP_CWORD" = 1 ]; then COMPREPLY=($(compgen -W "${names}" -- "$word"))
  elif [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word"))
  else COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -o filenames -F _caisson caisson
`;

const zsh = `#compdef caisson
autoload -U +X bashcompinit && bashcompinit
${bash}`;

const fish = `${Object.entries(summaries)
  .map(([name, text]) => `complete -c caisson -n __fish_use_subcommand -a ${name} -d '${text.replaceAll("'", "\\'")}'`)
  .join("\n")}
${Object.entries(specs)
  .flatMap(([verb, options]) =>
    Object.entries(options).map(
      ([name, spec]) =>
        `complete -c caisson -n '__fish_seen_subcommand_from ${verb}' -l ${name} -d '${spec.help.replaceAll("'", "\\'")}'`,
    ),
  )
  .join("\n")}
`;

const shells: Record<string, string> = { bash, zsh, fish };

const usage = `caisson completion ${Object.keys(shells).join("|")}`;

export function completionHelpText(): string {
  return `usage: ${usage}

Prints a script that lets your shell complete commands and options.

  bash  source <(caisson completion bash), in ~/.bashrc
  zsh   source <(caisson completion zsh), in ~/.zshrc, after compinit
  fish  caisson completion fish > ~/.config/fish/completions/caisson.fish
`;
}

/** Undefined when help was asked for. */
export function completion(args: readonly string[]): string | undefined {
  if (parseOptions(args, { help: helpOption }).flag("help")) return undefined;
  const [shell = "", ...more] = args;
  const script = shells[shell];
  if (script !== undefined && more.length === 0) return script;
  throw new AppError("invalid", shell === "" ? "which shell?" : `there is no completion for '${args.join(" ")}'`, {
    hint: usage,
  });
}
