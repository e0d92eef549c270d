import { clientVerbs } from "./client/verbs.ts";
import { exitCodes } from "./exit-codes.ts";
import { formatOptions } from "./options.ts";
import { runOptionSpecs } from "./run-options.ts";
import { shellOptionSpecs } from "./shell-options.ts";

/** The commands, in the order help shows them. */
export const commands = {
  run: "run a Python, Node or shell script in a sealed sandbox",
  shell: "type in a sealed sandbox of its own, or in one of a daemon",
  up: "start the daemon, which keeps sandboxes for others",
  down: "end the daemon; its sandboxes live on",
  status: "say whether a daemon runs, and where",
  mcp: "serve agents over standard input and output, or write a client's configuration",
  serve: "serve agents as mcp does, with all tools; with --transport http, as the daemon does",
  runs: "list what was run, and what came of it",
  audit: "verify the audit log, list or export it, with or without the daemon",
  doctor: "say what works on this machine, and what to do about the rest",
  config: "print every setting, and where its value comes from",
  completion: "print a completion script for bash, zsh or fish",
  version: "print the version",
  help: "print this text, or that of a command",
} as const;

/** The commands of a first day, each as a line that works. */
const firstDay = [
  ["run script.py", "run a script in a sandbox of its own"],
  ["shell", "open a shell in a sandbox of its own"],
  ["doctor", "say what works on this machine"],
  ["up --detach", "start the daemon"],
  ["create", "create a sandbox of the daemon, and print its id"],
  ["ls", "list its sandboxes"],
  ["cp notes.txt SANDBOX:", "copy a file into a sandbox"],
  ["exec SANDBOX 'ls -l'", "run a command there"],
  ["rm SANDBOX", "destroy a sandbox and wipe its workspace"],
  ["mcp install claude-code", "give an agent its own sandbox"],
] as const;

export function helpText(): string {
  const row = (name: string, text: string) => `  ${name.padEnd(20)}${text}`;
  const first = firstDay.map(([line, text]) => `  caisson ${line.padEnd(26)}${text}`);
  const own = Object.entries(commands).map(([name, text]) => row(name, text));
  const asked = Object.entries(clientVerbs).map(([name, { summary }]) => row(name, summary));
  return `caisson: runs code you do not trust in sealed sandboxes

usage: caisson COMMAND [OPTIONS]

To begin with:

${first.join("\n")}

caisson help COMMAND explains one. All commands:

${own.join("\n")}

With a daemon (caisson up --detach):

${asked.join("\n")}

  caisson run script.py
  caisson run --engine container --memory 1G --timeout 30 script.js --its-own-option
  echo 'print(6*7)' | caisson run - --language python --json
  caisson shell --memory 1G
  caisson shell SANDBOX
  caisson exec $(caisson create --memory 1G) 'python3 -c "print(6*7)"'
`;
}

function sizesAndCodes(whose: string): string {
  const { usage, timeout, failed, killed } = exitCodes;
  return `Sizes: a plain number is MB; 64k, 512M and 2G work too.
Exit codes: the ${whose}'s own; ${usage} usage, ${timeout} time-out, ${failed} Caisson failed, ${killed} killed or out of memory.`;
}

export function runHelpText(): string {
  return `usage: caisson run [OPTIONS] FILE [ARGS…]
       caisson run [OPTIONS] -          (code from standard input)

Runs FILE in a sandbox of its own, with nothing of this machine but its programs: no network, no files, no rights.
Standard input, output and the exit code pass through. Long options may also follow FILE directly.
Everything after -- goes to the program.

${formatOptions(runOptionSpecs)}

${sizesAndCodes("script")}
`;
}

export function shellHelpText(): string {
  return `usage: caisson shell [OPTIONS] [-- COMMAND…]
       caisson shell [OPTIONS] SANDBOX [-- COMMAND…]

Opens a shell, or COMMAND, on a terminal in a sandbox of its own, which is gone afterwards, or in SANDBOX of a daemon, which
is not. All keys go there, Ctrl-C, Ctrl-Z and Ctrl-D too; its terminal has the size of yours. Without limits on time: exit
or Ctrl-D ends it. SANDBOX goes with --namespace and --config alone; the daemon is that of this data folder, with its
administrator's key, unless CAISSON_URL and CAISSON_API_KEY name another.

${formatOptions(shellOptionSpecs)}

${sizesAndCodes("shell")}
`;
}
