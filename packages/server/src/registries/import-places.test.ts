import { expect, it } from "vitest";
import type { Caller } from "../core/principal.ts";
import type { Role } from "../core/scope.ts";
import { ImportPlaces } from "./import-places.ts";
import { ociLimits } from "./limits.ts";

const callerOf = (namespace: string, role: Role = "agent"): Caller => ({
  principal: { id: "k", name: "k", namespace, role },
  requestId: "r",
});
const full = expect.objectContaining({ code: "limit_exceeded", retryAfterMs: expect.any(Number) });

it("[S97] a namespace that has slow images pulled leaves places to others, and all of them one to administrators", () => {
  const places = new ImportPlaces();
  const alices = Array.from({ length: ociLimits.atOnceOfNamespace }, () => places.take(callerOf("alice")));
  expect(() => places.take(callerOf("alice", "operator"))).toThrow(full);
  const bobs = places.take(callerOf("bob"));
  for (const other of ["bob", "carol"]) expect(() => places.take(callerOf(other))).toThrow(full);
  const admins = places.take(callerOf("alice", "admin"));
  expect(() => places.take(callerOf("alice", "admin"))).toThrow(full);
  for (const place of [...alices, bobs, admins]) place[Symbol.dispose]();
  for (let at = 0; at < ociLimits.atOnce; at++) places.take(callerOf("alice", "admin"));
});
