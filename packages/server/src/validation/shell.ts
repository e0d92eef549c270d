import { forEachChild, type ParsedScript, parse, type SyntaxNode } from "unbash";
import { Findings } from "./findings.ts";
import { validationLimits } from "./limits.ts";
import { Positions } from "./position.ts";
import { judgeCommand, judgeTarget, type Verdict } from "./shell-commands.ts";
import { findPipedProgram, isForkBomb, programText, runsFetched } from "./shell-flow.ts";
import { isDynamic, simplify } from "./shell-words.ts";

const preloads = new Set(["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "PROMPT_COMMAND"]);

/** Where findings stand: in the text itself, or all at one place for text that is inside a word of it. */
interface Scope {
  place(start: number, end: number): ReturnType<Positions["range"]>;
  depth: number;
}

/** Unbash's parser; the rest is found in its tree. */
export function checkShell(code: string): Findings {
  const found = new Findings();
  const positions = new Positions(code);
  const script = parse(code);
  look(script, { place: (start, end) => positions.range(start, end), depth: 0 }, found);
  return found;
}

function look(script: ParsedScript, outer: Scope, found: Findings): void {
  const open: { node: SyntaxNode; scope: Scope }[] = [{ node: script, scope: outer }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node } = next;
    let { scope } = next;
    if (node.type === "Script") {
      // Escaped backticks hold a text of their own, whose offsets are not the script's.
      if (node.source !== undefined && node !== script) scope = fixedScope(scope, node.pos, node.end);
      // A parser that recovers tells what follows from the first error too.
      const [error] = "errors" in node ? (node.errors ?? []) : [];
      if (error !== undefined) found.add("error", "syntax", error.message, scope.place(error.pos, error.pos));
    }
    check(node, scope, found);
    const children: SyntaxNode[] = [];
    forEachChild(node, (child) => void children.push(child));
    for (const child of children.reverse()) open.push({ node: child, scope });
  }
}

const fixedScope = (scope: Scope, start: number, end: number): Scope => {
  const place = scope.place(start, end);
  return { place: () => place, depth: scope.depth };
};

function check(node: SyntaxNode, scope: Scope, found: Findings): void {
  const tell = ({ severity, rule, message }: Verdict) =>
    found.add(severity, rule, message, scope.place(node.pos, node.end));
  const danger = (rule: string, message: string) => tell({ severity: "danger", rule, message });
  switch (node.type) {
    case "Command": {
      const command = simplify(node);
      for (const verdict of judgeCommand(command)) tell(verdict);
      if (runsFetched(command)) danger("pipe-to-shell", "runs what it fetches, unseen");
      const text = programText(command);
      if (text !== undefined && !isDynamic(text) && scope.depth < validationLimits.shellDepth)
        look(parse(text.value), { ...fixedScope(scope, text.pos, text.end), depth: scope.depth + 1 }, found);
      return;
    }
    case "Pipeline": {
      const runner = findPipedProgram(node);
      if (runner !== undefined)
        found.add("danger", "pipe-to-shell", "runs what it fetches, unseen", scope.place(runner.pos, runner.end));
      return;
    }
    case "Function":
      if (isForkBomb(node)) danger("fork-bomb", `${node.name.value} starts itself without end`);
      return;
    case "Redirect": {
      if (node.target === undefined) return;
      const isRead = node.operator === "<" || node.operator === "<&";
      const verdict = judgeTarget(node.target.value);
      if (verdict !== undefined && (!isRead || verdict.rule === "reverse-shell")) tell(verdict);
      return;
    }
    case "HereDoc":
      // Bash takes it, and warns too.
      if (node.closing === undefined)
        tell({ severity: "warning", rule: "unclosed-heredoc", message: "it goes on to the end of the script" });
      return;
    case "Assignment":
      if (preloads.has(node.name))
        tell({ severity: "warning", rule: "preload", message: `${node.name} changes what programs run` });
      return;
  }
}
