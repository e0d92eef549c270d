/** By the end of a name: what agents make and people open. */
const types: Readonly<Record<string, string>> = {
  csv: "text/csv",
  gif: "image/gif",
  htm: "text/html",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  md: "text/markdown",
  mjs: "text/javascript",
  pdf: "application/pdf",
  png: "image/png",
  py: "text/x-python",
  sh: "application/x-sh",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  ts: "text/x-typescript",
  tsv: "text/tab-separated-values",
  txt: "text/plain",
  webp: "image/webp",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip",
};

/** Undefined where the name does not tell. */
export function mediaTypeOf(name: string): string | undefined {
  const end = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase();
  return end !== undefined && Object.hasOwn(types, end) ? types[end] : undefined;
}
