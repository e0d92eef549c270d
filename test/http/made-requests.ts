import fc from "fast-check";
import type { Document, Operation } from "./document.ts";
import type { RawRequest } from "./raw.ts";
import { garbage, nearlyValid, oddStrings, valid } from "./schema-values.ts";

export interface MadeRequest extends RawRequest {
  /** In the document. Places of the path that are still names in braces are for whatever lives when it is sent. */
  template: string;
}

type Body = string | Buffer | undefined;

const mostly = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: odd });

const oddSegments = fc.oneof(
  oddStrings.filter((text) => text.isWellFormed()).map(encodeURIComponent),
  fc.constantFrom("a.txt", "nope", "%2e%2e", "%2Fetc%2Fpasswd", "%00", "%ff", "%zz", "a%0d%0ab", "..%2f..", ";", "%"),
);

function paths(template: string): fc.Arbitrary<string> {
  const names = template.match(/\{\w+\}/g) ?? [];
  const places = names.map((name) => mostly(fc.constant(name === "{path}" ? "a.txt" : name), oddSegments));
  return fc.tuple(...places).map((filled) => {
    let at = 0;
    return template.replace(/\{\w+\}/g, () => filled[at++] ?? "");
  });
}

function queries(document: Document, { parameters }: Operation): fc.Arbitrary<string> {
  const known = parameters.filter((one) => one.in === "query");
  const fields = known.map(({ name, schema }) => [name, mostly(valid(document, schema), oddStrings)] as const);
  const requiredKeys = known.filter((one) => one.required).map((one) => one.name);
  const given = fc.record(Object.fromEntries(fields), { requiredKeys });
  return fc.tuple(given, mostly(fc.constant(""), fc.constantFrom("nope", "__proto__"))).map(([fields, stray]) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) query.append(name, String(value));
    if (stray !== "") query.append(stray, "1");
    return query.toString();
  });
}

function bodies(document: Document, { requestBody }: Operation): fc.Arbitrary<Body> {
  if (requestBody === undefined) return mostly<Body>(fc.constant(undefined), garbage);
  const schema = requestBody.content["application/json"]?.schema;
  if (schema === undefined)
    return mostly<Body>(
      fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
      garbage,
    );
  const json = (values: fc.Arbitrary<unknown>) => values.map((value) => JSON.stringify(value));
  return fc.oneof(
    { weight: 5, arbitrary: json(valid(document, schema)) },
    { weight: 3, arbitrary: json(nearlyValid(document, schema)) },
    { weight: 1, arbitrary: garbage },
  );
}

const types = mostly(
  fc.constant("application/json"),
  fc.constantFrom("text/plain", "application/json; charset=utf-16", "", "multipart/form-data"),
);

const oddHeaders: Record<string, string[]> = {
  accept: ["*/*", "text/event-stream", "application/x-ndjson", "text/html", "x"],
  range: ["bytes=0-0", "bytes=5-", "bytes=-1", "bytes=9-1", "bytes=0-1,3-4", "bytes=99999999999999999999-", "x"],
  "if-range": ["x", "Sun, 06 Nov 1994 08:49:37 GMT"],
  "idempotency-key": ["same", "x".repeat(300), "\u00e9", "a b"],
  "x-caisson-namespace": ["default", "elsewhere", "..", "x".repeat(100)],
  "last-event-id": ["0", "-1", "999999999999999999999", "x"],
  expect: ["100-continue", "nonsense"],
  origin: ["null", "https://evil.example"],
  "content-encoding": ["gzip", "x"],
  upgrade: ["websocket", "h2c"],
  authorization: ["Basic x", "Bearer x"],
};

const pairs = Object.entries(oddHeaders).flatMap(([name, values]) => values.map((value) => ({ [name]: value })));
const headers = mostly(fc.constant({}), fc.constantFrom(...pairs));

/** Any request to any route of the document: right, nearly right, or nonsense. */
export function madeRequests(document: Document): fc.Arbitrary<MadeRequest> {
  const operations = (ofTools: boolean) =>
    Object.entries(document.paths).filter(([template]) => template.startsWith("/api/v1/tools/") === ofTools);
  const requests = (ofTools: boolean) => fc.oneof(...made(document, operations(ofTools)));
  // Tools have a third of all paths, and say little about the others.
  return fc.oneof({ weight: 5, arbitrary: requests(false) }, { weight: 1, arbitrary: requests(true) });
}

function made(document: Document, chosen: [string, Record<string, Operation>][]): fc.Arbitrary<MadeRequest>[] {
  return chosen.flatMap(([template, operations]) =>
    Object.entries(operations).map(([name, operation]) => {
      const parts = fc.tuple(
        paths(template),
        queries(document, operation),
        bodies(document, operation),
        types,
        headers,
      );
      return parts.map(
        ([path, query, body, type, headers]): MadeRequest => ({
          method: name.toUpperCase(),
          template,
          path: query === "" ? path : `${path}?${query}`,
          headers: { ...(body === undefined ? {} : { "content-type": type }), ...headers },
          body,
        }),
      );
    }),
  );
}
