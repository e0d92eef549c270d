import { AppError } from "../../core/errors.ts";
import { packageManagers } from "../../core/package.ts";
import { packageLimits } from "../../package-install/limits.ts";
import { visible } from "../terminal.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson, tellLine, tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { tableVerb } from "./verb-kinds.ts";

const install: Verb = {
  summary: "install pip or npm packages into a sandbox, from the registries configured on the daemon's machine",
  usage: "SANDBOX pip|npm [PACKAGE…]",
  words: [2, 2 + packageLimits.packages],
  options: {
    lockfile: {
      type: "string",
      value: "PATH",
      help: "install from a lockfile in the workspace: requirements with hashes (pip) or package-lock.json (npm)",
    },
  },
  run: async (call) => {
    const [, word, ...packages] = call.words;
    const manager = packageManagers.find((known) => known === word);
    if (manager === undefined)
      throw new AppError("invalid", `unknown package manager '${word}'`, { hint: "pip or npm" });
    const lockfile = call.options.text("lockfile");
    const request = { manager, packages, ...(lockfile === undefined ? {} : { lockfile }) };
    const done = await (await namedSandbox(call)).packages.install(request);
    if (call.json) tellJson(call.io, done);
    else for (const { name, version } of done.installed) tellLine(call.io, `${name} ${version}`);
    if (!call.json && done.exit_code !== 0) call.io.stderr.write(done.output.split("\n").map(visible).join("\n"));
    return done.exit_code;
  },
};

const list = tableVerb({
  summary: "list the packages installed in a sandbox",
  usage: "SANDBOX",
  call: async (call) => (await namedSandbox(call)).packages.list(),
  headings: ["MANAGER", "NAME", "VERSION", "INSTALLED", "HASH"],
  rows: (found) => found.map((one) => [one.manager, one.name, one.version, tellTime(one.installed_at), one.hash]),
});

export const packageVerbs: Record<string, Verb> = { install, packages: list };
