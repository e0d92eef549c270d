import { readFile } from "node:fs/promises";
import { type ProgramName, programPath } from "./native-programs.ts";
import { type Rest, toJson } from "./rest.ts";

/** Copies a program of the benchmarks to the workspace and says where it is. */
export async function installOver(rest: Rest, id: string, name: ProgramName): Promise<string> {
  const bytes = await readFile(programPath(name));
  toJson(await rest.call("PUT", `/api/v1/sandboxes/${id}/files/${name}?mode=755`, bytes));
  return `/workspace/${name}`;
}
