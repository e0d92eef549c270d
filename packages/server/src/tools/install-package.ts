import { z } from "zod";
import { packageManagers } from "../core/package.ts";
import { defined } from "../lib/defined.ts";
import { toMs } from "../schemas/amount.ts";
import { installFields, installOutcome } from "../schemas/package.ts";
import { sessionId, sessionOf, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const installPackage = defineTool({
  name: "install_package",
  title: "Install packages",
  sets: ["core"],
  scope: "use",
  description: [
    "Installs pip or npm packages into your sandbox from the registries that the operator has configured. Your code gets no network access.",
    "Use it before code that imports missing packages. They stay as long as the session.",
    "Returns the new packages with versions and hashes, and the end of the installer's output; check exit_code.",
    "If versions are required, the refusal says so: name==1.2.3 for pip, name@1.2.3 for npm.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    manager: z.enum(packageManagers).default("pip"),
    ...installFields,
    session_id: sessionId,
  }),
  output: installOutcome.extend(where),
  run: async (call, input) => {
    const { caller, parts, signal } = call;
    const { manager, packages = [], lockfile, timeout_seconds } = input;
    const record = await sessionOf(call, input.session_id);
    const request = { manager, packages, signal, ...defined({ lockfile, timeoutMs: toMs(timeout_seconds) }) };
    const outcome = await parts.packages.install(caller, record.id, request);
    return { structured: { ...outcome, ...whereOf(record) } };
  },
});
