import { z } from "zod";
import { fork, forkSandbox as request } from "../schemas/fork.ts";
import { existingSession, sessionId } from "./session.ts";
import { defineTool } from "./tool.ts";

const { memory, why, files } = fork.shape;
const copy = z.object({ sandbox_id: z.string().describe("of a copy; give it as session_id") });

export const forkSandbox = defineTool({
  name: "fork_sandbox",
  title: "Copy a session",
  sets: ["sessions"],
  permission: "use",
  description: [
    "Makes copies of a session as it is now: variables, processes and files where the engine can (memory: true), else the files alone (memory: false, and why).",
    "Use it to try several continuations of the same work: fork, then go on in each copy with its sandbox_id as session_id. What one copy does, no other sees.",
    "Comes back: the sandbox_id of each copy. Code that runs in the session's interpreter must end first (conflict).",
    "End copies that are done with terminate_session.",
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
