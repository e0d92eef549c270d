import { readFile, stat } from "node:fs/promises";
import { AppError, errnoOf } from "../core/errors.ts";
import { sandboxLimits } from "../core/limits.ts";
import { showBytes } from "../core/size.ts";
import { cliLimits } from "./limits.ts";

const reasons: Record<string, string> = {
  ENOENT: "no such file",
  EACCES: "permission denied",
  ENOTDIR: "a parent is not a folder",
  EISDIR: "it is a folder",
};

function checkText(bytes: Buffer, name: string): Buffer {
  if (bytes.subarray(0, cliLimits.textProbeBytes).includes(0))
    throw new AppError("invalid", `${name} is a binary file, not a script`, {
      hint: "pass the source file of a Python, Node or shell program",
    });
  return bytes;
}

export async function readScript(file: string): Promise<Buffer> {
  try {
    const info = await stat(file);
    if (info.isDirectory()) throw new AppError("invalid", `cannot run '${file}': it is a folder`);
    if (info.size > sandboxLimits.codeBytes)
      throw new AppError("too_large", `cannot run '${file}': it is larger than ${showBytes(sandboxLimits.codeBytes)}`);
    return checkText(await readFile(file), `'${file}'`);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const code = errnoOf(error);
    throw new AppError("not_found", `cannot run '${file}': ${reasons[code ?? ""] ?? code}`, { cause: error });
  }
}

export async function readCode(input: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    size += chunk.length;
    if (size > sandboxLimits.codeBytes)
      throw new AppError("too_large", `standard input is larger than ${showBytes(sandboxLimits.codeBytes)}`);
    chunks.push(chunk);
  }
  return checkText(Buffer.concat(chunks), "standard input").toString("utf8");
}
