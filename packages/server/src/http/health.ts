import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { type Readiness, seldom } from "./readiness.ts";
import { defineOpenRoute, type Route } from "./route.ts";

const tag = "health";

/** For whoever watches the process (OBS-03): no key, and nothing told that a stranger could use. */
export function healthRoutes(ready: Readiness): Route[] {
  const check = seldom(ready);
  return [
    defineOpenRoute({
      method: "GET",
      path: "/healthz",
      tag,
      summary: "Whether the process answers",
      responses: { 200: { description: "it does", schema: z.object({ status: z.literal("ok") }) } },
      handler: async () => ({ status: 200, json: { status: "ok" } }),
    }),
    defineOpenRoute({
      method: "GET",
      path: "/readyz",
      tag,
      summary: "Whether it can serve: store and engine answer",
      problems: [503],
      responses: { 200: { description: "it can", schema: z.object({ status: z.literal("ready") }) } },
      handler: async () => {
        try {
          await check();
        } catch (cause) {
          const detail = cause instanceof AppError ? cause.message : "not ready";
          throw new AppError("unavailable", detail, { hint: "the daemon's log says why", retryAfterMs: 1_000, cause });
        }
        return { status: 200, json: { status: "ready" } };
      },
    }),
  ];
}
