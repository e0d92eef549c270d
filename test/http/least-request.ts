import type { Route } from "../../packages/server/src/http/route.ts";
import type { Api } from "./api.ts";
import { sample } from "./sample.ts";
import type { TestServer } from "./server.ts";

export const nameOf = ({ method, path }: Pick<Route, "method" | "path">): string => `${method} ${path}`;

/** Sends the least that a route takes: its required fields, each with the first thing that fits unless it is given. */
export function sendLeast(
  { judge }: Pick<TestServer, "judge">,
  api: Api,
  { method, path, raw }: Route,
  filled: string,
  given: { query?: Readonly<Record<string, string>>; json?: object } = {},
): Promise<Response> {
  const { parameters, requestBody } = judge.document.paths[path]?.[method.toLowerCase()] ?? { parameters: [] };
  const schema = requestBody?.content["application/json"]?.schema;
  const required = parameters.filter((one) => one.in === "query" && one.required);
  const least = Object.fromEntries(required.map(({ name }) => [name, "x"]));
  const query = new URLSearchParams({ ...least, ...given.query });
  return api.open(method, `${filled}?${query}`, {
    bad: true,
    ...(raw === undefined || schema !== undefined || method === "GET" || method === "HEAD" ? {} : { body: "x" }),
    ...(schema === undefined ? {} : { json: given.json ?? sample(judge.document, schema) }),
  });
}
