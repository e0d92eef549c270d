import { type Command, forEachChild, type Pipeline, type SyntaxNode, type Word } from "unbash";
import { optionsOf, type SimpleCommand, simplify } from "./shell-words.ts";

const shells = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash", "source", "."]);
const interpreters = new Set(["python", "python3", "node", "perl", "ruby", "php"]);
const fetchers = new Set(["curl", "wget", "fetch", "aria2c", "lynx"]);

/** A shell or interpreter that takes its program from its input. */
function readsProgram(command: SimpleCommand): boolean {
  const { letters, operands } = optionsOf(command.args);
  if (shells.has(command.name))
    return !letters.has("c") && (operands.length === 0 || letters.has("s") || operands[0]?.value === "/dev/stdin");
  return (
    interpreters.has(command.name) && !letters.has("c") && !letters.has("e") && (operands[0]?.value ?? "-") === "-"
  );
}

const isCommand = (node: SyntaxNode): node is Command => node.type === "Command";

/** Whether something below fetches from the network. */
function fetches(node: SyntaxNode): boolean {
  const open: SyntaxNode[] = [node];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isCommand(next) && fetchers.has(simplify(next).name)) return true;
    forEachChild(next, (child) => void open.push(child));
  }
  return false;
}

/** `curl … | sh`: what came over the network is run. The stage that runs it. */
export function findPipedProgram({ commands }: Pipeline): SyntaxNode | undefined {
  const from = commands.findIndex(fetches);
  if (from < 0) return undefined;
  return commands.slice(from + 1).find((node) => isCommand(node) && readsProgram(simplify(node)));
}

/** `bash <(curl …)`, `sh -c "$(curl …)"`, `eval "$(curl …)"`. */
export function runsFetched({ name, args }: SimpleCommand): boolean {
  return (shells.has(name) || interpreters.has(name) || name === "eval") && args.some(fetches);
}

/** Text in the code that is code itself: of `bash -c '…'`, `eval '…'`, `trap '…' EXIT`. */
export function programText({ name, args }: SimpleCommand): Word | undefined {
  if (name === "trap") return args.length > 1 ? args[0] : undefined;
  if (name === "eval") return args[0];
  const option = args.findIndex(({ value }) => /^-[a-z]*c$/.test(value));
  return shells.has(name) && option >= 0 ? args[option + 1] : undefined;
}

/** A function that starts itself in the background or in a pipe, again and again. */
export function isForkBomb(node: SyntaxNode): boolean {
  if (node.type !== "Function") return false;
  const name = node.name.value;
  const calls = (inner: SyntaxNode) => inner.type === "Command" && inner.name?.value === name;
  const open: SyntaxNode[] = [node.body];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.type === "Pipeline" && next.commands.filter(calls).length > 1) return true;
    if (next.type === "Statement" && next.background && calls(next.command)) return true;
    forEachChild(next, (child) => void open.push(child));
  }
  return false;
}
