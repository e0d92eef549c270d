import { z } from "zod";
import { toCommand } from "../core/command.ts";
import type { ImageRecord } from "../core/image-record.ts";
import { languages } from "../core/language.ts";
import { engineChoices } from "../core/request.ts";
import { sandbox } from "../schemas/sandbox.ts";
import { sessionId, sessionOf, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

const programs = { python: "python3", node: "node", shell: "bash" } as const;

/** One line each, empty for what is not there. */
const script = Object.values(programs)
  .map((program) => `${program} --version 2>/dev/null | head -n 1 || true`)
  .join("; ");

/** Those that are ready, once by each name. */
function imagesOf(records: readonly ImageRecord[]): { name: string; description: string }[] {
  const ready = records.filter(({ state }) => state === "ready").reverse();
  const host = { name: "host", description: "the programs of the machine itself" };
  return [host, ...new Map(ready.map(({ name, description }) => [name, { name, description }])).values()];
}

export const listRuntimes = defineTool({
  name: "list_runtimes",
  title: "List languages and engines",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Lists the languages of execute_code with their versions in your sandbox, which of them keep variables, the engines that isolate sandboxes, and the images for sandboxes.",
    "Use it before you rely on a version. `engine` is that of your session; `auto` is the strongest that works on this machine.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ session_id: sessionId }),
  output: z.object({
    languages: z.array(
      z.object({
        language: z.enum(languages),
        version: z.string().nullable().describe("null: not in this image"),
        stateful: z.boolean(),
      }),
    ),
    engines: z.array(z.string()).describe("values for create_session"),
    images: z.array(z.object({ name: z.string(), description: z.string() })).describe("values for create_session"),
    auto: z.string(),
    ...sandbox.pick({ engine: true, image: true }).shape,
    ...where,
  }),
  run: async (call, { session_id }) => {
    const { caller, parts, signal } = call;
    const record = await sessionOf(call, session_id);
    const command = toCommand({ what: { line: script } });
    const { stdout } = await parts.fleet.run(caller, record.id, command, { signal }, (sandbox) =>
      sandbox.run({ trackFiles: false, signal }),
    );
    const lines = stdout.split("\n");
    const found = languages.map((language, at) => ({
      language,
      version: /\d+\.\d+(\.\d+)?/.exec(lines[at] ?? "")?.[0] ?? null,
      stateful: language !== "shell",
    }));
    const { engine, image } = record;
    const auto = await parts.strongestEngine();
    const images = imagesOf(parts.images.list());
    const what = { languages: found, engines: [...engineChoices], auto, images, engine, image };
    return { structured: { ...what, ...whereOf(record) } };
  },
});
