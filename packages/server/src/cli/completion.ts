import { AppError } from "../core/errors.ts";
import { languages } from "../core/language.ts";
import { engineChoices } from "../core/request.ts";
import { commands } from "./help.ts";
import type { OptionSpecs } from "./options.ts";
import { runOptionSpecs } from "./run-options.ts";
import { shellOptionSpecs } from "./shell-options.ts";

const names = Object.keys(commands).join(" ");
const specs: Record<string, OptionSpecs> = { run: runOptionSpecs, shell: shellOptionSpecs };
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

const fish = `${Object.entries(commands)
  .map(([name, text]) => `complete -c caisson -n __fish_use_subcommand -a ${name} -d '${text}'`)
  .join("\n")}
${Object.entries(specs)
  .flatMap(([verb, options]) =>
    Object.entries(options).map(
      ([name, spec]) =>
        `complete -c caisson -n '__fish_seen_subcommand_from ${verb}' -l ${name} -d '${spec.help.replaceAll("'", "")}'`,
    ),
  )
  .join("\n")}
`;

const shells: Record<string, string> = { bash, zsh, fish };

export function completion(args: readonly string[]): string {
  const script = shells[args[0] ?? ""];
  if (script === undefined)
    throw new AppError("invalid", "which shell?", { hint: `caisson completion ${Object.keys(shells).join("|")}` });
  return script;
}
