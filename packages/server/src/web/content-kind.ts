/** What can be read as a page, by the type that its server says it has. */
export type ContentKind = "html" | "json" | "xml" | "text";

export interface ContentType {
  /** Undefined: none of them. */
  kind: ContentKind | undefined;
  /** As the server says it, without parameters. */
  type: string;
  charset: string | undefined;
}

const texts = ["javascript", "ecmascript", "x-javascript", "x-ndjson", "yaml", "x-yaml", "toml", "sql", "x-sh"];

export function readContentType(field: string | string[] | undefined): ContentType {
  const [first = "", ...parameters] = String(field ?? "").split(";");
  const type = first.trim().toLowerCase();
  const charset = parameters.map((text) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/i.exec(text)?.[1]).find(Boolean);
  return { kind: kindOf(type), type, charset };
}

function kindOf(type: string): ContentKind | undefined {
  const [family, name = ""] = type.split("/");
  if (type === "text/html" || type === "application/xhtml+xml") return "html";
  if (name === "json" || name.endsWith("+json")) return "json";
  if (type === "text/xml" || type === "application/xml" || (family === "application" && name.endsWith("+xml")))
    return "xml";
  if (family === "text" || (family === "application" && texts.includes(name))) return "text";
  return undefined;
}

/** Of an answer that does not say what it is. */
export function guessKind(bytes: Buffer): ContentKind | undefined {
  const start = bytes.toString("latin1", 0, 1_024);
  if (start.includes("\0")) return undefined;
  if (/^\s*(<!doctype html|<html|<head|<body|<!--)/i.test(start.replace(/^\xef\xbb\xbf/, ""))) return "html";
  return "text";
}
