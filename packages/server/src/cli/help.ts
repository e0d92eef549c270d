import { clientVerbs } from "./client/verbs.ts";
import { exitCodes } from "./exit-codes.ts";
import { formatOptions } from "./options.ts";
import { daemonHelp } from "./report-options.ts";
import { runOptionSpecs } from "./run-options.ts";
import { shellOptionSpecs } from "./shell-options.ts";

/** The commands, in the order help shows them. */
export const commands = {
  run: "run a Python, Node or shell script in a new sandbox",
  shell: "open a shell in a new sandbox, or in an existing one",
  up: "start the daemon, which manages sandboxes and serves the API",
  down: "stop the daemon; its sandboxes keep running",
  status: "show whether the daemon is running, and its address",
  mcp: "serve MCP on standard input and output, or install Caisson in an MCP client",
  serve: "serve MCP with all tools; --transport http starts the daemon",
  runs: "list recorded runs and their results",
  audit: "verify, list or export the audit log",
  doctor: "check this machine and show how to fix problems",
  config: "print every setting and where its value is set",
  completion: "print a completion script for bash, zsh or fish",
  version: "print the version",
  help: "print this help, or the help of a command",
} as const;

/** Commands for a first day, each a line that works. */
const firstDay = [
  ["run script.py", "run a script in a new sandbox"],
  ["shell", "open a shell in a new sandbox"],
  ["doctor", "check what works on this machine"],
  ["up --detach", "start the daemon in the background"],
  ["create", "create a sandbox and print its id"],
  ["ls", "list sandboxes"],
  ["cp notes.txt SANDBOX:", "copy a file into a sandbox"],
  ["exec SANDBOX 'ls -l'", "run a command in a sandbox"],
  ["rm SANDBOX", "destroy a sandbox and wipe its workspace"],
  ["mcp install claude-code", "let Claude Code use Caisson"],
] as const;

export function helpText(): string {
  const row = (name: string, text: string) => `  ${name.padEnd(20)}${text}`;
  const first = firstDay.map(([line, text]) => `  caisson ${line.padEnd(26)}${text}`);
  const own = Object.entries(commands).map(([name, text]) => row(name, text));
  const client = Object.entries(clientVerbs).map(([name, { summary }]) => row(name, summary));
  return `caisson: run untrusted code in sealed sandboxes

usage: caisson COMMAND [OPTIONS]

Getting started:

${first.join("\n")}

Commands:

${own.join("\n")}

Commands that need a daemon (caisson up --detach starts one):

${client.join("\n")}

Examples:

  caisson run script.py
  caisson run --engine container --memory 1G --timeout 30 script.js --its-own-option
  echo 'print(6*7)' | caisson run - --language python --json
  caisson shell --memory 1G
  caisson shell SANDBOX
  caisson exec $(caisson create --memory 1G) 'python3 -c "print(6*7)"'

Run caisson help COMMAND for the options and examples of a command.
`;
}

function sizesAndCodes(whose: string): string {
  const { usage, timeout, failed, killed } = exitCodes;
  return `Sizes: a number without a unit is in MB; 64k, 512M and 2G also work.
Exit codes: the ${whose}'s own; ${usage} usage error, ${timeout} timeout, ${failed} Caisson failed, ${killed} killed or out of memory.`;
}

export function runHelpText(): string {
  return `usage: caisson run [OPTIONS] FILE [ARGS…]
       caisson run [OPTIONS] -          (code from standard input)

Runs FILE in a new sandbox, which is destroyed afterwards. The sandbox has the programs of this machine, but none
of its files, and no network access unless a rule allows it. Standard input, output and the exit code pass through.
Options go before FILE; long options may also follow FILE directly. Everything after -- goes to the program.

${formatOptions(runOptionSpecs)}

${sizesAndCodes("script")}
`;
}

export function shellHelpText(): string {
  return `usage: caisson shell [OPTIONS] [-- COMMAND…]
       caisson shell [OPTIONS] SANDBOX [-- COMMAND…]

Opens a shell in a new sandbox, which is destroyed when the shell ends. With SANDBOX, opens it in that sandbox of the
daemon, which is kept. With COMMAND, runs that program on the terminal instead of a shell.

All keys go to the sandbox, including Ctrl-C, Ctrl-Z and Ctrl-D. Type exit or press Ctrl-D to leave; there is no time limit
by default.

With SANDBOX, a daemon is required, and only --namespace and --config apply.
${daemonHelp}

${formatOptions(shellOptionSpecs)}

${sizesAndCodes("shell")}
`;
}
