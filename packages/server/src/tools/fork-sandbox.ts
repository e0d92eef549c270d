import { z } from "zod";
import { fork, forkSandbox as request } from "../schemas/fork.ts";
import { existingSession, sessionId } from "./session.ts";
import { defineTool } from "./tool.ts";

const { memory, why, files } = fork.shape;
const copy = z.object({ sandbox_id: z.string().describe("id of a copy; pass it as session_id") });

export const forkSandbox = defineTool({
  name: "fork_sandbox",
  title: "Copy a session",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Copies a session as it is now: variables, processes and files if the engine supports it (memory: true), otherwise only the files (memory: false, and why).",
    "Use it to try several ways from the same point: fork, then continue in each copy with its sandbox_id as session_id. Copies are independent.",
    "Returns the sandbox_id of each copy. Code in the session's interpreter must end first (conflict).",
    "End unused copies with terminate_session.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ session_id: sessionId, count: request.shape.count, memory: request.shape.memory }),
  output: z.object({ copies: z.array(copy), memory, why, files }),
  run: async (call, { session_id, count, memory }) => {
    const { caller, parts } = call;
    const { id } = await existingSession(call, session_id);
    const { records, ...made } = await parts.fleet.fork(caller, id, { count, memory });
    return { structured: { copies: records.map((record) => ({ sandbox_id: record.id })), ...made } };
  },
});
