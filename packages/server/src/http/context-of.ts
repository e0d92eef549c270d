import type { FastifyRequest } from "fastify";
import type { Context } from "./problem.ts";

const shownCharacters = 64;

/** Without the address itself, which may hold a ticket or a signature. */
export function contextOf(request: FastifyRequest): Context {
  const { id } = (request.params ?? {}) as { id?: unknown };
  const of = typeof id === "string" ? `, id ${JSON.stringify(id.slice(0, shownCharacters))}` : "";
  return {
    name: `${request.method} ${request.routeOptions.url ?? "(no route)"}${of}, ${request.id}`,
    gone: request.raw.socket.destroyed,
  };
}
