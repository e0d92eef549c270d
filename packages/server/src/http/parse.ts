import type { z } from "zod";
import { AppError } from "../core/errors.ts";
import { defined } from "../lib/defined.ts";
import { hintOf } from "../schemas/meant-field.ts";
import { isPieces } from "./request-body.ts";
import type { Route } from "./route.ts";

/** The whole of a request as a route wants it, or an error that names the field. */
export function parseRequest(route: Route, params: unknown, query: unknown, body: unknown) {
  return {
    params: parsePart(route.params, params, "path"),
    query: route.query === undefined ? refuseAny(query) : parsePart(route.query, query, "query"),
    body: isHandedOn(route, body) ? body : parseBody(route, body),
  };
}

/** Bytes, where the route takes them as they come. */
function isHandedOn({ raw, body: schema }: Route, body: unknown): boolean {
  return raw !== undefined && (schema === undefined || isPieces(body));
}

function parseBody(route: Route, body: unknown): unknown {
  if (route.body === undefined) {
    if (body === undefined || body === null || isEmpty(body)) return undefined;
    throw new AppError("invalid", "this request takes no body");
  }
  if (body === undefined && !route.bodyOptional)
    throw new AppError("invalid", route.raw === undefined ? "missing JSON body" : "missing body");
  return parsePart(route.body, body === undefined ? {} : body, "body");
}

function isEmpty(body: unknown): boolean {
  return typeof body === "object" && body !== null && !Array.isArray(body) && Object.keys(body).length === 0;
}

function refuseAny(query: unknown): undefined {
  const [name] = Object.keys((query as Record<string, unknown> | null) ?? {});
  if (name !== undefined) throw new AppError("invalid", `query: unknown parameter '${name.slice(0, 60)}'`);
  return undefined;
}

function parsePart(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (schema === undefined) return undefined;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  const at = [where, ...(first?.path ?? [])].join(".").slice(0, 200);
  throw new AppError("invalid", `${at}: ${first?.message.slice(0, 300)}`, {
    ...defined({ hint: hintOf(schema, parsed.error) }),
    details: {
      issues: parsed.error.issues.slice(0, 16).map((issue) => ({
        path: [where, ...issue.path].join(".").slice(0, 200),
        message: issue.message.slice(0, 300),
      })),
    },
  });
}
