/** Decides what to install for a source, and what starts it by names and metadata of its files, which propose and nothing more (S114). */
import { posix } from "node:path";
import { AppError } from "../core/errors.ts";

/** Metadata of a Python project (pyproject.toml). */
export interface PythonProject {
  name: string;
  dependencies: readonly string[];
  scripts: readonly string[];
}

/** Entry points of a Node package (package.json). */
export interface NodePackage {
  name: string;
  bin: Readonly<Record<string, string>>;
  main: string | null;
}

export interface SourceFacts {
  /** Names of the regular files at the top. */
  files: ReadonlySet<string>;
  python: PythonProject | null;
  node: NodePackage | null;
}

export interface BuildPlan {
  /** Arguments of `pip install` in the folder of the source; null: there is nothing to install. */
  pip: readonly string[] | null;
  npm: "ci" | "install" | null;
  /** Words that start the server, in the folder of the source. */
  command: readonly string[];
}

export const dependencyFile = "/workspace/.build/dependencies.txt";
const requirements = "requirements.txt";
const pythonFiles = ["server.py", "main.py"];
const nodeFiles = ["server.js", "index.js", "server.mjs", "index.mjs"];
const locks = ["package-lock.json", "npm-shrinkwrap.json"];

export function planBuild(facts: SourceFacts, command: readonly string[] | null): BuildPlan {
  const { files, python, node } = facts;
  if (!files.has(requirements) && python === null && node === null)
    throw new AppError("invalid", "the archive has no requirements.txt, pyproject.toml or package.json at its root", {
      hint: "add a requirements.txt, which may be empty; pack the files themselves, not the folder around them",
    });
  const found = command ?? findCommand(facts);
  return { pip: pipWords(facts, found), npm: npmWord(facts), command: found };
}

function pipWords({ files, python }: SourceFacts, [program = ""]: readonly string[]): string[] | null {
  if (!files.has(requirements) && python === null) return null;
  const listed = files.has(requirements) ? ["-r", requirements] : [];
  if (python?.scripts.includes(program)) return [...listed, "."];
  if (listed.length > 0 || python === null) return listed;
  return python.dependencies.length === 0 ? null : ["-r", dependencyFile];
}

function npmWord({ files, node }: SourceFacts): BuildPlan["npm"] {
  if (node === null) return null;
  return locks.some((name) => files.has(name)) ? "ci" : "install";
}

function findCommand({ files, python, node }: SourceFacts): readonly string[] {
  const file = pythonFiles.find((name) => files.has(name));
  if (file !== undefined) return ["python", file];
  if (files.has("__main__.py")) return ["python", "."];
  const script = python === null ? undefined : preferred(python.scripts, python.name);
  if (script !== undefined) return [script];
  const target = node === null ? undefined : nodeTarget(node);
  if (target !== undefined) return ["node", target];
  const nodeFile = node === null ? undefined : nodeFiles.find((name) => files.has(name));
  if (nodeFile !== undefined) return ["node", nodeFile];
  throw new AppError("invalid", "the archive has no entry point", {
    hint: "add server.py, main.py, [project.scripts], or bin or main in package.json, or set a command",
  });
}

function nodeTarget({ name, bin, main }: NodePackage): string | undefined {
  const program = preferred(Object.keys(bin), name.replace(/^@[^/]*\//, ""));
  const path = program === undefined ? main : bin[program];
  return path == null || !isInside(path) ? undefined : posix.normalize(path);
}

/** The one with the name of its package, or else the first. */
export function preferred(names: readonly string[], own: string): string | undefined {
  const same = (name: string) => name.toLowerCase().replaceAll(/[._-]+/g, "-");
  return names.find((name) => same(name) === same(own)) ?? names[0];
}

function isInside(path: string): boolean {
  return path !== "" && !path.startsWith("/") && !path.split("/").includes("..");
}
