import { inspect } from "node:util";

const { stringify } = JSON;
const { from } = Buffer;

/** What the value's own method gives, or undefined. */
function rich(value, name) {
  try {
    return typeof value[name] === "function" ? value[name]() : undefined;
  } catch {
    return undefined;
  }
}

function isPlain(value) {
  if (typeof value !== "object") return ["string", "boolean"].includes(typeof value) || Number.isFinite(value);
  const prototype = value === null ? null : Object.getPrototypeOf(value);
  return value === null || Array.isArray(value) || prototype === null || prototype === Object.prototype;
}

function asJson(value) {
  try {
    return stringify(value);
  } catch {
    return undefined;
  }
}

const base64 = (value) => (value instanceof Uint8Array ? from(value).toString("base64") : value);

/** A value as text, and as whatever else it can be shown as. */
export function describe(value, limits) {
  const text = inspect(value, { depth: 4, maxArrayLength: 1000, maxStringLength: limits.textChars });
  const parts = { text: text.slice(0, limits.textChars) };
  if (text.length > limits.textChars) parts.truncated = true;
  const isObject = typeof value === "object" && value !== null;
  const bundle = (isObject && rich(value, Symbol.for("Jupyter.display"))) || {};
  const own = (name, mime) => (isObject ? (rich(value, name) ?? bundle[mime]) : undefined);
  const json = own("_repr_json_", "application/json");
  const offered = {
    json: json === undefined ? (isPlain(value) ? asJson(value) : undefined) : asJson(json),
    html: own("_repr_html_", "text/html"),
    svg: own("_repr_svg_", "image/svg+xml"),
    png: base64(own("_repr_png_", "image/png")),
  };
  for (const [key, part] of Object.entries(offered)) {
    if (typeof part !== "string") continue;
    if (part.length <= limits.richChars) parts[key] = part;
    else parts.truncated = true;
  }
  return parts;
}
