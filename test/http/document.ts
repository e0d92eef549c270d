import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

type Json = Record<string, unknown>;

export interface Operation {
  parameters: { name: string; in: string; required: boolean; schema: Json }[];
  requestBody?: { required: boolean; content: Record<string, { schema?: Json }> };
  responses: Record<string, { $ref?: string; content?: Record<string, { schema?: Json }> }>;
}

export interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Json; responses: Record<string, Operation["responses"][string]> };
}

export interface Exchange {
  method: string;
  url: URL;
  /** Parsed JSON, or undefined for a body that is none. */
  requestBody?: unknown;
  status: number;
  contentType: string | null;
  responseBody?: unknown;
}

const streams = ["text/event-stream", "application/x-ndjson"];

/** An OpenAPI document that judges what was sent and what came back. */
export class Judge {
  readonly document: Document;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: Document) {
    this.document = document;
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(document, "document");
  }

  /** The operation's path in the document. */
  pathOf(method: string, url: URL): string {
    const found = Object.entries(this.document.paths)
      .filter(([path, operations]) => method.toLowerCase() in operations && matches(path, url.pathname))
      .sort(([left], [right]) => left.split("{").length - right.split("{").length)[0];
    if (found === undefined) throw new Error(`${method} ${url.pathname} is not in the document`);
    return found[0];
  }

  checkRequest({ method, url, requestBody }: Exchange): void {
    const path = this.pathOf(method, url);
    const operation = this.document.paths[path]?.[method.toLowerCase()] as Operation;
    const known = operation.parameters.filter((one) => one.in === "query").map((one) => one.name);
    const strays = [...url.searchParams.keys()].filter((name) => !known.includes(name));
    if (strays.length > 0) throw new Error(`${method} ${path}: query ${strays} is not in the document`);
    if (requestBody === undefined) return;
    this.#check([path, method.toLowerCase(), "requestBody", "content", "application/json", "schema"], requestBody);
  }

  checkResponse(exchange: Exchange): void {
    this.checkAnswer({ ...exchange, path: this.pathOf(exchange.method, exchange.url) });
  }

  /** Where the path is known to begin with. */
  checkAnswer({ method, path, status, contentType, responseBody }: Exchange & { path: string }): void {
    const operation = this.document.paths[path]?.[method.toLowerCase()] as Operation;
    const listed = operation.responses[status];
    if (listed === undefined) throw new Error(`${method} ${path}: status ${status} is not in the document`);
    const reference = listed.$ref?.split("/").at(-1);
    const { content = {} } = reference === undefined ? listed : (this.document.components.responses[reference] ?? {});
    const media = contentType?.split(";")[0]?.trim();
    if (media === undefined) {
      if (Object.keys(content).length > 0 && method !== "HEAD")
        throw new Error(`${method} ${path}: ${status} has no content type`);
      return;
    }
    if (method !== "HEAD" && !(media in content))
      throw new Error(`${method} ${path}: ${status} with ${media} is not in the document`);
    if (content[media]?.schema === undefined || method === "HEAD") return;
    if (streams.includes(media) && responseBody === undefined) return; // its schema is that of one event or line
    const inEvent = media === "text/event-stream" ? ["properties", "data", "contentSchema"] : [];
    if (reference !== undefined)
      this.#check(["components", "responses", reference, "content", media, "schema"], responseBody);
    else
      this.#check(
        [path, method.toLowerCase(), "responses", String(status), "content", media, "schema", ...inEvent],
        responseBody,
      );
  }

  #check(place: string[], value: unknown): void {
    const parts = place[0] === "components" ? place : ["paths", ...place];
    const pointer = parts.map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1")).map(encodeURIComponent);
    const reference = `document#/${pointer.join("/")}`;
    const validate = this.#compiled.get(reference) ?? this.#ajv.compile({ $ref: reference });
    this.#compiled.set(reference, validate);
    if (!validate(value))
      throw new Error(
        `${place.join(" ")}: ${this.#ajv.errorsText(validate.errors)}\n${JSON.stringify(value)?.slice(0, 2000)}`,
      );
  }
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  const open = wanted.at(-1) === "{path}";
  if (open ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((part, at) => part.startsWith("{") || part === given[at]);
}
