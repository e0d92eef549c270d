import { AppError } from "../core/errors.ts";
import { clientVerbs } from "./client/verbs.ts";
import { type Completed, completedCommands, type Kind, subcommands } from "./completion-table.ts";
import { commands } from "./help.ts";
import { parseOptions } from "./options.ts";
import { helpOption } from "./report-options.ts";

/** Verbs by their first word, which of `keys create` is `keys`. */
const groups = Map.groupBy(Object.entries(clientVerbs), ([name]) => name.split(" ")[0] ?? "");
const summaries: Record<string, string> = {
  ...commands,
  ...Object.fromEntries([...groups].map(([word, verbs]) => [word, verbs.map(([, { summary }]) => summary).join("; ")])),
};
const names = Object.keys(summaries).join(" ");

/** For a shell, between single quotes. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A line of a shell's `case`: the words that a command is called by, and what may follow them. */
function bashCase(one: Completed): string {
  const length = one.names[0]?.split(" ").length ?? 1;
  const patterns = one.names.map((name) => (length === 2 ? quoted(name) : `${quoted(`${name} `)}*`)).join("|");
  const offered = one.options.map(({ name }) => `--${name}`).join(" ");
  const valued = one.options.flatMap(({ name, kind, others }) =>
    kind === undefined ? [] : [`--${name}`, ...others].map((word) => `${quoted(word)}) kind=${quoted(kind)} ;;`),
  );
  const words = one.words.map((kind, at) => {
    const isLast = one.repeats && at === one.words.length - 1;
    return `${isLast ? "*" : at}) kind=${quoted(kind)} ;;`;
  });
  const asked = valued.length === 0 ? ":" : `case $1 in ${valued.join(" ")} esac`;
  const placed = words.length === 0 ? ":" : `case $1 in ${words.join(" ")} esac`;
  return `    ${patterns}) at=${length + 1} options=${quoted(offered)}
      _caisson_value() { ${asked}; }
      _caisson_word() { ${placed}; } ;;`;
}

const subcommandCases = [...subcommands].map(
  ([first, seconds]) => `${quoted(first)}) more=${quoted(seconds.join(" "))} ;;`,
);

/**
 * Asks the daemon, for two seconds at most; where there is none, nothing is said. Nothing but ids comes through, whatever a
 * daemon answers: `compgen -W` expands the words that it is given, commands in them included.
 */
const sandboxes = (program: string) =>
  `timeout 2 ${program} ls </dev/null 2>/dev/null | sed 1d | cut -d' ' -f1 | env LC_ALL=C grep -xE '[a-z2-7]{16}'`;

/** In zsh too, which has no `mapfile`. A line is a word as it is: a file's name is neither split nor a pattern. */
const bash = `_caisson_sandboxes() {
  ${sandboxes(`"\${COMP_WORDS[0]}"`)}
}
_caisson_add() {
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done
}
_caisson_offer() {
  local word=$2
  case $1 in
    sandbox) _caisson_add < <(compgen -W "$(_caisson_sandboxes)" -- "$word") ;;
    copy)
      [[ $word == */* || $word == .* ]] || _caisson_add < <(compgen -S : -W "$(_caisson_sandboxes)" -- "$word")
      [ \${#COMPREPLY[@]} = 0 ] || compopt -o nospace 2>/dev/null
      _caisson_offer file "$word" ;;
    file) compopt -o filenames 2>/dev/null; _caisson_add < <(compgen -f -- "$word") ;;
    folder) compopt -o filenames 2>/dev/null; _caisson_add < <(compgen -d -- "$word") ;;
    :*) COMPREPLY+=($(compgen -W "\${1#:}" -- "$word")) ;;
  esac
}
_caisson() {
  local word=\${COMP_WORDS[COMP_CWORD]} at=2 options= more= kind= i=0 place=0 first=\${COMP_WORDS[1]}
  local IFS=$' \\t\\n'
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then COMPREPLY=($(compgen -W "${names}" -- "$word")); return; fi
  _caisson_value() { :; }
  _caisson_word() { :; }
  case $first in
    help) [ "$COMP_CWORD" != 2 ] || COMPREPLY=($(compgen -W "${names}" -- "$word")); first=\${COMP_WORDS[2]} ;;
    completion) [ "$COMP_CWORD" != 2 ] || COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")); return ;;
  esac
  case $first in
    ${subcommandCases.join("\n    ")}
  esac
  if [ "\${COMP_WORDS[1]}" = help ]; then
    [ "$COMP_CWORD" != 3 ] || COMPREPLY=($(compgen -W "$more" -- "$word"))
    return
  fi
  local asked="$first \${COMP_WORDS[2]}"
  [ "$COMP_CWORD" != 2 ] || asked="$first "
  case $asked in
${completedCommands.map(bashCase).join("\n")}
  esac
  [ "$COMP_CWORD" != 2 ] || COMPREPLY=($(compgen -W "$more" -- "$word"))
  for ((i = at; i < COMP_CWORD; i++)); do
    kind=
    case \${COMP_WORDS[i]} in
      --) options= ;;
      -*)
        _caisson_value "\${COMP_WORDS[i]}"
        if [ -n "$kind" ]; then
          i=$((i + 1))
          if [ "\${COMP_WORDS[i]}" = = ]; then
            if [ "$i" = "$COMP_CWORD" ]; then word=; else i=$((i + 1)); fi
          fi
          if [ "$i" -ge "$COMP_CWORD" ]; then _caisson_offer "$kind" "$word"; return; fi
        fi ;;
      *) place=$((place + 1)) ;;
    esac
  done
  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word")); return; fi
  kind=
  _caisson_word "$place"
  _caisson_offer "$kind" "$word"
}
`;

const zsh = `#compdef caisson
autoload -U +X bashcompinit && bashcompinit
${bash}complete -o filenames -F _caisson caisson
`;

/** The condition of a line of fish: a command's first word, and its second word if any. */
function fishCondition({ names }: Completed): string {
  const [first = "", second] = names[0]?.split(" ") ?? [];
  const seconds = names.map((name) => name.split(" ")[1] ?? "");
  const seen = `__fish_seen_subcommand_from ${first}`;
  if (second !== undefined) return `${seen}; and __fish_seen_subcommand_from ${seconds.join(" ")}`;
  const below = subcommands.get(first);
  return below === undefined ? seen : `${seen}; and not __fish_seen_subcommand_from ${below.join(" ")}`;
}

function fishValues(kind: Kind): string {
  if (kind === "sandbox") return "-f -a '(__caisson_sandboxes)'";
  if (kind === "copy") return "-a '(__caisson_sandboxes):'";
  if (kind === "folder") return "-f -a '(__fish_complete_directories)'";
  return kind.startsWith(":") ? `-f -a '${kind.slice(1)}'` : kind === "file" ? "-F" : "-f";
}

function fishLines(one: Completed): string[] {
  const command = `complete -c caisson -n '${fishCondition(one)}'`;
  const kind = one.words.find((word) => word !== "none") ?? "none";
  const options = one.options.map(
    ({ name, kind, help }) =>
      `${command} -l ${name}${kind === undefined ? "" : ` -r ${fishValues(kind)}`} -d ${fishText(help)}`,
  );
  return [`${command} ${fishValues(kind)}`, ...options];
}

const fishText = (text: string) => `'${text.replaceAll("'", "\\'")}'`;

const fish = `function __caisson_sandboxes
  ${sandboxes("caisson")}
end
${[
  ...Object.entries(summaries).map(
    ([name, text]) => `complete -c caisson -n __fish_use_subcommand -f -a ${name} -d ${fishText(text)}`,
  ),
  ...[...subcommands].map(
    ([first, seconds]) =>
      `complete -c caisson -n '__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${seconds.join(" ")}' -a '${seconds.join(" ")}'`,
  ),
  ...completedCommands.flatMap(fishLines),
].join("\n")}
`;

const shells: Record<string, string> = {
  bash: `${bash}complete -F _caisson caisson
`,
  zsh,
  fish,
};

const usage = `caisson completion ${Object.keys(shells).join("|")}`;

export function completionHelpText(): string {
  return `usage: ${usage}

Prints a script that completes commands, options and sandbox ids in your shell. Sandbox ids come from the daemon.

  bash  source <(caisson completion bash), in ~/.bashrc
  zsh   source <(caisson completion zsh), in ~/.zshrc, after compinit
  fish  caisson completion fish > ~/.config/fish/completions/caisson.fish
`;
}

/** Undefined when --help is given. */
export function completion(args: readonly string[]): string | undefined {
  if (parseOptions(args, { help: helpOption }).flag("help")) return undefined;
  const [shell = "", ...more] = args;
  const script = shells[shell];
  if (script !== undefined && more.length === 0) return script;
  throw new AppError("invalid", shell === "" ? "missing shell" : `unknown shell '${args.join(" ")}'`, {
    hint: usage,
  });
}
