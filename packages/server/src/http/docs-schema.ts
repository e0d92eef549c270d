import { escapeHtml, prose } from "./html.ts";

/** JSON Schema, as far as the OpenAPI document uses it. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  examples?: readonly unknown[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  contentSchema?: Schema;
}

export type Schemas = Readonly<Record<string, Schema>>;

/** Fields of fields of fields: past this it is for /openapi.json. */
const depth = 4;

/** What a name stands for; what is said beside the name goes before what the name says. */
export function resolve(schemas: Schemas, { $ref, ...beside }: Schema): Schema {
  return $ref === undefined ? beside : { ...resolve(schemas, schemas[$ref.split("/").at(-1) ?? ""] ?? {}), ...beside };
}

/** Without those that only say which fields an object must have. */
export const optionsOf = ({ anyOf, oneOf }: Schema): readonly Schema[] =>
  (anyOf ?? oneOf ?? []).filter((option) => Object.keys(option).some((key) => key !== "required"));

/** Without null, which is a word of its own in what a type is called. */
function soleOption(schemas: Schemas, schema: Schema): Schema {
  const options = optionsOf(schema).filter(({ type }) => type !== "null");
  return options.length === 1 && options[0] !== undefined ? resolve(schemas, options[0]) : schema;
}

export function typeOf(schemas: Schemas, given: Schema): string {
  const schema = resolve(schemas, given);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const options = optionsOf(schema);
  if (options.length > 0) return [...new Set(options.map((option) => typeOf(schemas, option)))].join(" | ");
  if (schema.type === "array") {
    const item = typeOf(schemas, schema.items ?? {});
    return item.includes(" | ") ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type === "object" && typeof schema.additionalProperties === "object" && schema.properties === undefined)
    return `{ name: ${typeOf(schemas, schema.additionalProperties)} }`;
  return [schema.type ?? "any"].flat().join(" | ");
}

const show = (value: number | undefined) => value?.toLocaleString("en");

const range = (least: number | undefined, most: number | undefined, unit: string): string[] => {
  if (least === undefined && most === undefined) return [];
  if (least === undefined) return [`at most ${show(most)}${unit}`];
  return [most === undefined ? `${show(least)}${unit} or more` : `${show(least)} to ${show(most)}${unit}`];
};

/** Whole numbers are bounded by what JSON can carry, which says nothing. */
const told = (bound: number | undefined) => (Math.abs(bound ?? 0) >= Number.MAX_SAFE_INTEGER ? undefined : bound);

function limitsOf(schema: Schema): string[] {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems, format, pattern } = schema;
  return [
    ...range(told(minimum), told(maximum), ""),
    ...(exclusiveMinimum === undefined ? [] : [`more than ${exclusiveMinimum}`]),
    ...range(minLength, maxLength, " characters"),
    ...range(minItems, maxItems, " items"),
    ...(format === undefined ? [] : [format]),
    ...(pattern === undefined || format !== undefined ? [] : [pattern]),
  ];
}

/** One line of a table of parameters or fields. */
export function row(schemas: Schemas, name: string, given: Schema, isRequired: boolean): string {
  const schema = resolve(schemas, given);
  const plain = soleOption(schemas, schema);
  const { default: usual } = schema;
  const words = [
    ...(usual === undefined
      ? []
      : [`<span class="d">default <code>${escapeHtml(JSON.stringify(usual))}</code></span>`]),
    ...limitsOf(plain.type === "array" ? { ...plain.items, ...plain } : plain).map(
      (limit) => `<span>${escapeHtml(limit)}</span>`,
    ),
  ];
  const text = schema.description ?? plain.description ?? "";
  return `<tr><td><code>${escapeHtml(name)}</code>${isRequired ? "<b>*</b>" : ""}</td><td class="t">${escapeHtml(typeOf(schemas, schema))}</td>
<td>${prose(text)}${words.length > 0 ? `<div class="l">${words.join("")}</div>` : ""}</td></tr>`;
}

/** The fields of an object, and those of what is in them, each by its way there: `limits.memory_mb`, `files[].path`. */
export function fieldRows(schemas: Schemas, given: Schema, isAnswer: boolean, before = "", level = 0): string[] {
  const schema = soleOption(schemas, resolve(schemas, given));
  if (schema.items !== undefined) return fieldRows(schemas, schema.items, isAnswer, `${before}[]`, level);
  const { properties = {}, required = [] } = schema;
  if (level >= depth) return [];
  return Object.entries(properties).flatMap(([name, field]) => {
    const way = before === "" ? name : `${before}.${name}`;
    return [
      row(schemas, way, field, !isAnswer && required.includes(name)),
      ...fieldRows(schemas, field, isAnswer, way, level + 1),
    ];
  });
}
