import type { Operation } from "./docs-route.ts";
import { optionsOf, resolve, type Schema, type Schemas } from "./docs-schema.ts";

/** What stands for a text or number of that name. */
const words: Readonly<Record<string, unknown>> = {
  command: "echo hello",
  code: "print(6 * 7)",
  path: "notes.txt",
  from: "notes.txt",
  to: "notes-2.txt",
  host: "api.example.com",
  url: "https://example.com/hook",
  signal: "SIGTERM",
  port: 8080,
};

/** The least that a schema takes, and what its author gave for an example before that. */
function sample(schemas: Schemas, given: Schema, name = "text"): unknown {
  const schema = resolve(schemas, given);
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (words[name] !== undefined) return words[name];
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  const [option] = optionsOf(schema);
  if (option !== undefined) return sample(schemas, option, name);
  const [type] = [schema.type].flat();
  if (type === "array") return [sample(schemas, schema.items ?? {}, name)];
  if (type === "boolean") return true;
  if (type === "number" || type === "integer") return schema.minimum ?? 1;
  if (type !== "object") return name;
  const { properties = {}, required = [] } = schema;
  return Object.fromEntries(required.map((field) => [field, sample(schemas, properties[field] ?? {}, field)]));
}

/** `{id}` as `$ID`; a path is the rest of the address. */
const places = (path: string) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => (name === "path" ? "notes.txt" : `$${name.toUpperCase()}`));

function queryOf(schemas: Schemas, { parameters }: Operation): string {
  const needed = parameters.filter((one) => one.in === "query" && one.required);
  const given = needed.map(({ name, schema }) => [name, String(sample(schemas, schema, name))] as const);
  return given.length === 0 ? "" : `?${new URLSearchParams(Object.fromEntries(given))}`;
}

function bodyOf(schemas: Schemas, { requestBody }: Operation, method: string): string[] {
  if (requestBody === undefined) return [];
  const schema = requestBody.content["application/json"]?.schema;
  const [media] = Object.keys(requestBody.content);
  if (schema === undefined) return [method === "PUT" ? "-T FILE" : `-H 'Content-Type: ${media}' --data-binary @FILE`];
  const json = JSON.stringify(sample(schemas, schema)).replaceAll("'", "'\\''");
  return requestBody.required || json !== "{}" ? ["\\\n  -H 'Content-Type: application/json'", `-d '${json}'`] : [];
}

/** A request that is taken, for a shell in which URL, KEY and the ids of the path are set. */
export function curl(schemas: Schemas, method: string, path: string, operation: Operation): string {
  const { 200: answer, 101: upgraded } = operation.responses;
  const media = Object.keys(answer?.content ?? {});
  const body = bodyOf(schemas, operation, method);
  const implied = method === "GET" || (method === "POST" && body.length > 0) || body.includes("-T FILE");
  const address = `"$URL${places(path)}${queryOf(schemas, operation)}"`;
  const key = operation["x-role"] === undefined ? [] : ['-H "X-API-Key: $KEY"'];
  if (upgraded !== undefined && answer === undefined)
    return ["websocat", ...key, address.replace(/^"/, '"ws').replace("$URL", "$" + "{URL#http}")].join(" ");
  const flags = media[0] === "text/event-stream" ? "-sN" : "-s";
  const saved = media[0] === "application/octet-stream" && method === "GET" ? ["-o FILE"] : [];
  const how = method === "HEAD" ? ["-I"] : implied ? [] : [`-X ${method}`];
  return ["curl", flags, ...how, ...key, address, ...body, ...saved].join(" ");
}
