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
      summary: "Returns 200 while the daemon runs",
      responses: { 200: { description: "the daemon runs", schema: z.object({ status: z.literal("ok") }) } },
      handler: async () => ({ status: 200, json: { status: "ok" } }),
    }),
    defineOpenRoute({
      method: "GET",
      path: "/readyz",
      tag,
      summary: "Returns 200 if the daemon can serve requests: its store and engine respond",
      problems: [503],
      responses: { 200: { description: "the daemon is ready", schema: z.object({ status: z.literal("ready") }) } },
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
