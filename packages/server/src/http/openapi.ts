import { z } from "zod";
import { lowestRole, scopes } from "../core/scope.ts";
import { requestHeaders } from "../schemas/headers.ts";
import { problemFields } from "../schemas/problem.ts";
import { problemStatuses } from "./problem-statuses.ts";
import type { ResponseSpec, Route } from "./route.ts";
import { streamContent } from "./stream-messages.ts";

type Json = { [key: string]: unknown };

const problem = z.object({ type: z.string(), ...problemFields }).meta({ id: "Problem" });

/** Named schemas of all routes, in one place. */
class Components {
  readonly schemas: Json = {};

  convert(schema: z.ZodType, io: "input" | "output"): Json {
    const options = { io, unrepresentable: "any", override: keepUsual } as const;
    const { $schema: _, $defs = {}, id: __, ...rest } = z.toJSONSchema(schema, options) as Json;
    for (const [name, definition] of Object.entries($defs as Json)) {
      const { id: ___, ...plain } = definition as Json;
      this.schemas[name] = moveReferences(plain);
    }
    return moveReferences(rest) as Json;
  }
}

/** Zod leaves defaults and examples out where a value is written otherwise than it is shown: here both are as shown. */
function keepUsual({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Json }): void {
  const { examples } = z.globalRegistry.get(zodSchema) ?? {};
  if (examples !== undefined) jsonSchema.examples = examples;
  if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue;
}

function moveReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moveReferences);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) =>
      key === "$ref" && typeof field === "string"
        ? [key, field.replace("#/$defs/", "#/components/schemas/")]
        : [key, moveReferences(field)],
    ),
  );
}

/** A wrapper makes a schema with an id one of the definitions, whether or not another one uses it. */
function named(components: Components, schema: z.ZodType, io: "input" | "output"): Json {
  const { properties } = components.convert(z.object({ it: schema }), io) as { properties: { it: Json } };
  return properties.it;
}

/** Arrays stand in a query as `a,b`. */
const joined = ({ type }: Json) => (type === "array" ? { style: "form", explode: false } : {});

function parameters(components: Components, schema: z.ZodType | undefined, place: "path" | "query"): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = components.convert(schema, "input") as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    ...(description === undefined ? {} : { description }),
    ...joined(rest),
    schema: rest,
  }));
}

function content(components: Components, { schema, media = [], messages }: ResponseSpec): Json {
  const types: Json = {};
  if (schema !== undefined) types["application/json"] = { schema: named(components, schema, "output") };
  for (const type of media) types[type] = {};
  const show = (one: z.ZodType) => named(components, one, "output");
  if (messages !== undefined) Object.assign(types, streamContent(show, messages));
  return Object.keys(types).length === 0 ? {} : { content: types };
}

function responsesOf(components: Components, route: Route): Json {
  const responses: Json = {};
  const refusal = { $ref: `#/components/responses/${route.failure === undefined ? "Problem" : "Refusal"}` };
  for (const status of problemStatuses(route)) responses[status] = refusal;
  for (const [status, response] of Object.entries(route.responses)) {
    const headers = Object.entries(response.headers ?? {}).map(([name, description]) => [
      name,
      { description, schema: { type: "string" } },
    ]);
    responses[status] = {
      description: response.description,
      ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
      ...content(components, response),
    };
  }
  return responses;
}

function requestBody(components: Components, route: Route): Json {
  const { raw, body } = route;
  if (raw === undefined && body === undefined) return {};
  const { min = 0, max } = route.rawBytes ?? {};
  const shown = max === undefined ? {} : { schema: { type: "string", minLength: min, maxLength: max } };
  const content = {
    ...(body === undefined ? {} : { "application/json": { schema: named(components, body, "input") } }),
    ...Object.fromEntries((raw ?? []).map((type) => [type, shown])),
  };
  return { requestBody: { required: !route.bodyOptional, content } };
}

function header(components: Components, name: string, checked: z.ZodType): Json {
  const { description, ...schema } = components.convert(checked, "input");
  return { name, in: "header", required: false, description, schema };
}

/** `POST /api/v1/sandboxes/{id}/exec` as `postSandboxesIdExec`. */
function operationId({ method, path }: Pick<Route, "method" | "path">): string {
  const words = path.replace("/api/v1", "").match(/[A-Za-z0-9]+/g) ?? [];
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

function operation(components: Components, route: Route): Json {
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    ...(route.scope === null
      ? { security: [] }
      : {
          description: `Requires the scope \`${route.scope}\`: ${scopes[route.scope].allows}.`,
          "x-role": lowestRole(route.scope),
        }),
    parameters: [
      ...parameters(components, route.params, "path"),
      ...parameters(components, route.query, "query"),
      ...(route.scope === null
        ? []
        : [
            header(components, "X-Caisson-Namespace", requestHeaders.namespace),
            header(components, "X-Caisson-Priority", requestHeaders.priority),
          ]),
      ...(route.idempotent ? [header(components, "Idempotency-Key", requestHeaders.idempotencyKey)] : []),
    ],
    ...requestBody(components, route),
    responses: responsesOf(components, route),
  };
}

/** OpenAPI 3.1 of the route table (API-01), for a server at a URL. */
export function openApi(routes: readonly Route[], version: string, url = "/"): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const route of routes.flatMap((one) => one.shownAs ?? [one])) {
    paths[route.path] ??= {};
    (paths[route.path] as Json)[route.method.toLowerCase()] = operation(components, route);
  }
  const problemSchema = named(components, problem, "output");
  return {
    openapi: "3.1.0",
    info: {
      title: "Caisson",
      version,
      description: "Sealed sandboxes for untrusted code. Errors are problem documents (RFC 9457).",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url }],
    security: [{ key: [] }, { bearer: [] }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: components.schemas,
      responses: {
        Problem: { description: "a problem", content: { "application/problem+json": { schema: problemSchema } } },
        Refusal: {
          description: "an error in the form of the route's own protocol, or a problem if the route was not reached",
          content: { "application/json": {}, "application/problem+json": { schema: problemSchema } },
        },
      },
      securitySchemes: {
        key: { type: "apiKey", in: "header", name: "X-API-Key" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}
