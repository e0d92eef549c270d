import { access } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./native-programs.ts";
import { runProgram, surroundings } from "./program.ts";

const pythonPath = "/usr/bin/python3";

/** A package of PyPI in an environment of its own, which stays for the next time; gives back its interpreter. */
export async function installPython(requirement: string): Promise<string> {
  const place = join(root, ".build/peers", requirement.replace(/\W+/g, "-"));
  const python = join(place, "bin/python");
  const done = join(place, "installed");
  const isThere = await access(done).then(
    () => true,
    () => false,
  );
  if (isThere) return python;
  await runProgram(pythonPath, ["-m", "venv", "--clear", place]);
  const args = ["install", "--quiet", "--disable-pip-version-check", requirement];
  await runProgram(join(place, "bin/pip"), args, surroundings);
  await runProgram("/usr/bin/touch", [done]);
  return python;
}
