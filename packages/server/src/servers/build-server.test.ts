import { describe, expect, it } from "vitest";
import { StepFailure } from "../core/build-script.ts";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import { ServerBuilder, type ServerBuilderParts } from "./build-server.ts";

const caller: Caller = { principal: { id: "k", name: "k", namespace: "n", role: "agent" }, requestId: "r" };
const request = {
  source: { kind: "archive" },
  archive: "/nowhere",
  image: { name: "mcp-runtime", layerId: "a".repeat(16) },
  command: null,
} as const;

/** A builder whose place in the queue, or whose layer, ends with this error. */
function builderThat(fails: { queue?: Error; layer?: Error }): ServerBuilder {
  return new ServerBuilder({
    fleet: {
      build: (_: Caller, __: AbortSignal, act: () => Promise<unknown>) =>
        fails.queue === undefined ? act() : Promise.reject(fails.queue),
    },
    layers: { build: () => Promise.reject(fails.layer) },
    registries: () => Promise.reject(new Error("not asked")),
    claims: { pip: async () => [], npm: async () => [] },
  } as unknown as ServerBuilderParts);
}
const build = (builder: ServerBuilder, signal = new AbortController().signal) =>
  builder.build(caller, request, { step: () => undefined, log: () => undefined, signal });

describe("a build of a server", () => {
  it("that finds the queue full says when to try again", async () => {
    const full = new AppError("limit_exceeded", "too many waiting jobs", { retryAfterMs: 5_000 });
    await expect(build(builderThat({ queue: full }))).rejects.toBe(full);
  });

  it("that is given up fails with the reason of whoever gave up", async () => {
    const reason = new AppError("conflict", "the server was deleted");
    await expect(build(builderThat({ queue: reason }), AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it("[HOS-01] names no path of the machine in an error, and leaves those of its sandbox", async () => {
    const layer = new AppError("unavailable", "cannot use layer x: open /srv/data/engine/layers/x: no such file");
    await expect(build(builderThat({ layer }))).rejects.toMatchObject({
      code: "unavailable",
      message: "queue: cannot use layer x: open (a path of the host): no such file",
    });
    const inside = new StepFailure("invalid", "exit code 1: /usr/bin/thing is missing");
    await expect(build(builderThat({ layer: inside }))).rejects.toMatchObject({
      message: "queue: exit code 1: /usr/bin/thing is missing",
    });
  });
});
