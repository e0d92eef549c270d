import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { defineOpenRoute, type Route } from "./route.ts";

const tag = "health";

/** Throws with what is wrong while the place cannot serve. */
export type Readiness = () => Promise<void>;

/** For whoever watches the process (OBS-03): no key, and nothing told that a stranger could use. */
export function healthRoutes(ready: Readiness): Route[] {
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
      responses: { 200: { description: "it can", schema: z.object({ status: z.literal("ready") }) } },
      handler: async () => {
        try {
          await ready();
        } catch (cause) {
          throw new AppError("unavailable", "not ready", { retryAfterMs: 1_000, cause });
        }
        return { status: 200, json: { status: "ready" } };
      },
    }),
  ];
}
