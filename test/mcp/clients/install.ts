import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { installed, pythonWith } from "../../python-tool.ts";

const run = promisify(execFile);

/** The inspector's command line: too large a package for every checkout. */
export async function inspector(): Promise<string | undefined> {
  const folder = await installed("inspector-2.12.0", async (prefix) => {
    const quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
    const argv = ["install", "--prefix", prefix, ...quiet, "@modelcontextprotocol/inspector@2.12.0"];
    await run("npm", argv, { timeout: 240_000 });
  });
  return folder && join(folder, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
}

/** A Python that has PyPI's mcp, of the line 2 or of the one before, which many programs are built on. */
export async function pythonWithMcp(version: "2.3.0" | "1.30.0"): Promise<string | undefined> {
  const folder = await pythonWith("mcp", version);
  return folder && join(folder, "bin/python");
}
