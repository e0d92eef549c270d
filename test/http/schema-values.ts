import fc from "fast-check";
import type { Document } from "./document.ts";

type Schema = Record<string, unknown>;

/** Strings that have hurt others. */
export const oddStrings = fc.constantFrom(
  "",
  ".",
  "..",
  "/",
  "../../etc/passwd",
  "/etc/shadow",
  "/workspace/../etc/passwd",
  "a\0b",
  "a\r\nset-cookie: x=1",
  '"; filename="x.html',
  "\ud800",
  "é\u202e\u0000",
  "x".repeat(300),
  "x".repeat(5_000),
  "__proto__",
  "constructor",
  "-1",
  "1e999",
  "NaN",
  "%00",
  "%2e%2e%2f",
  "' or 1=1 --",
  "{{7*7}}",
  "\u001b[2J",
);

const oddNumbers = fc.constantFrom(-1, 0, 0.5, 1e-300, 2 ** 31, 2 ** 32, 2 ** 53, 1e12, 1e300, -1e300);

const anything = fc.oneof(fc.jsonValue(), oddStrings, oddNumbers, fc.constant(null));

function strings(schema: Schema): fc.Arbitrary<string> {
  if (typeof schema.pattern === "string") {
    const pattern = new RegExp(schema.pattern);
    return fc.oneof(fc.stringMatching(/^[a-zA-Z0-9]{1,8}$/), fc.stringMatching(pattern)).filter((s) => pattern.test(s));
  }
  if (schema.format === "date-time") return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (schema.format === "uri") return fc.constantFrom("http://127.0.0.1:9/a", "http://user@127.0.0.1:9/?a#b");
  const { minLength = 0, maxLength = 200 } = schema as { minLength?: number; maxLength?: number };
  const fits = (text: string) => text.length >= minLength && text.length <= maxLength;
  const plain = fc.constantFrom("a", "a.txt", "/workspace/a.txt", "b/c", "true", "1", "echo x").filter(fits);
  const most = Math.max(minLength, Math.min(maxLength, 200));
  return fc.oneof(
    { weight: 3, arbitrary: plain },
    fc.string({ minLength, maxLength: most }),
    oddStrings.map((text) => (fits(text) ? text : "a".repeat(Math.max(1, minLength)))),
  );
}

function numbers(schema: Schema): fc.Arbitrary<number> {
  const { minimum: least, maximum: most } = schema as { minimum?: number; maximum?: number };
  const [min, max] = [Math.max(least ?? -1e9, -1e15), Math.min(most ?? 1e9, 1e15)];
  if (schema.type === "integer")
    return fc.oneof(fc.integer({ min: 0, max: 3 }), fc.maxSafeInteger()).map(within(min, max));
  return fc
    .oneof(fc.constantFrom(min, max), fc.integer({ min: 0, max: 2_000 }), fc.double({ noNaN: true }))
    .map(within(min, max));
}

const within = (min: number, max: number) => (value: number) => Math.min(max, Math.max(min, value));

function objects(document: Document, schema: Schema): fc.Arbitrary<unknown> {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: string[] };
  const fields = Object.entries(properties).map(([name, field]) => [name, valid(document, field)] as const);
  const known = fc.record(Object.fromEntries(fields), { requiredKeys: required });
  if (typeof schema.additionalProperties !== "object") return known;
  const more = fc.dictionary(
    fc.string({ minLength: 1, maxLength: 8 }),
    valid(document, schema.additionalProperties as Schema),
    {
      maxKeys: 3,
    },
  );
  return fc.tuple(known, more).map(([first, second]) => ({ ...second, ...first }));
}

/** What a schema takes. */
export function valid(document: Document, schema: Schema): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === "string")
    return valid(document, document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] as Schema);
  const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (options !== undefined && schema.type !== "object")
    return fc.oneof(...options.map((option) => valid(document, option)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if (schema.type === "object") return objects(document, schema);
  if (schema.type === "array") {
    const { minItems = 0, items = {} } = schema as { minItems?: number; items?: Schema };
    return fc.array(valid(document, items), { minLength: minItems, maxLength: minItems + 3 });
  }
  if (schema.type === "number" || schema.type === "integer") return numbers(schema);
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "null") return fc.constant(null);
  if (schema.type === "string") return strings(schema);
  return anything;
}

/** The same with one field gone, changed or added. */
export function nearlyValid(document: Document, schema: Schema): fc.Arbitrary<unknown> {
  return fc
    .tuple(valid(document, schema), fc.nat(), fc.constantFrom("drop", "change", "add"), oddStrings, anything)
    .map(([value, at, how, name, odd]) => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return odd;
      if (how === "add") return { ...value, [name]: odd };
      const keys = Object.keys(value);
      const key = keys[at % Math.max(1, keys.length)] ?? name;
      const { [key]: _, ...rest } = value as Record<string, unknown>;
      return how === "drop" ? rest : { ...rest, [key]: odd };
    });
}

export const garbage = fc.oneof(
  fc.string(),
  fc.constantFrom("", "{", "[]", "null", "0", '"x"', '{"__proto__":{"x":1}}', '{"a":1,"a":2}', "[".repeat(5_000)),
  anything.map((value) => JSON.stringify(value)),
);
