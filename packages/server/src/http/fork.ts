import type { Fleet } from "../core/fleet.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { fork, forkSandbox, showFork } from "../schemas/fork.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { defineRoute, type Route } from "./route.ts";

/** Copies of a running sandbox (LIF-08). */
export function forkRoutes(fleet: Fleet<Sandbox>): Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/fork",
      tag: "sandboxes",
      summary: "Copies a sandbox: its memory, processes and files on gVisor, only its files on other engines",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      body: forkSandbox,
      bodyOptional: true,
      idempotent: true,
      responses: { 201: { description: "all copies", schema: fork } },
      handler: async ({ caller, params, body }) => {
        const made = await fleet.fork(caller, params.id, { count: body.count, memory: body.memory });
        return { status: 201, json: showFork(made) };
      },
    }),
  ];
}
