import { curl } from "./docs-example.ts";
import { fieldRows, optionsOf, resolve, row, type Schema, type Schemas, typeOf } from "./docs-schema.ts";
import { escapeHtml, prose } from "./html.ts";

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description?: string;
  schema: Schema;
}

type Content = Readonly<Record<string, { schema?: Schema }>>;

interface ResponseObject {
  $ref?: string;
  description?: string;
  headers?: Readonly<Record<string, { description: string }>>;
  content?: Content;
}

/** Of the OpenAPI document. */
export interface Operation {
  operationId: string;
  tags: readonly [string];
  summary: string;
  "x-role"?: string;
  parameters: readonly Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Readonly<Record<string, ResponseObject>>;
}

const table = (rows: readonly string[]) => (rows.length === 0 ? "" : `<table>${rows.join("")}</table>`);

/** Headers that every route with a key takes are told once. */
const ofAll = "X-Caisson-";

function parametersOf(schemas: Schemas, { parameters }: Operation): string {
  const titles = { path: "Path", query: "Query", header: "Headers" };
  return Object.entries(titles)
    .map(([place, title]) => {
      const rows = parameters
        .filter(({ name, in: where }) => where === place && !name.startsWith(ofAll))
        .map(({ name, schema, description, required }) =>
          row(schemas, name, { ...schema, ...(description === undefined ? {} : { description }) }, required),
        );
      return rows.length === 0 ? "" : `<h4>${title}</h4>${table(rows)}`;
    })
    .join("");
}

/** The fields of one object; of several that it may be, each folded under its name. */
function fields(schemas: Schemas, given: Schema, isAnswer: boolean): string {
  const options = optionsOf(resolve(schemas, given)).filter(({ type }) => type !== "null");
  if (options.length < 2) return table(fieldRows(schemas, given, isAnswer));
  const shown = options.map((option) => {
    const { properties = {}, description = "", type, ...rest } = resolve(schemas, option);
    if (optionsOf(rest).length > 1) return fields(schemas, option, isAnswer);
    if (Object.keys(properties).length === 0) return "";
    const name = properties.type === undefined ? "either" : typeOf(schemas, properties.type).replaceAll('"', "");
    return `<details class="o"><summary><code>${escapeHtml(name)}</code> ${prose(description)}</summary>${table(fieldRows(schemas, option, isAnswer))}</details>`;
  });
  return shown.join("");
}

function contentOf(schemas: Schemas, content: Content, isAnswer: boolean): string {
  return Object.entries(content)
    .map(([media, { schema }]) => {
      const isRepeated = media === "application/x-ndjson" && "text/event-stream" in content;
      const type =
        schema === undefined || isStream(media) ? "" : ` <span class="t">${escapeHtml(typeOf(schemas, schema))}</span>`;
      const said = isStream(media) && schema?.description !== undefined ? ` ${prose(schema.description)}` : "";
      const message = schema?.properties?.data?.contentSchema ?? schema;
      const shown = message === undefined || isRepeated ? "" : fields(schemas, message, isAnswer);
      return `<p class="c"><code>${escapeHtml(media)}</code>${type}${said}</p>${shown}`;
    })
    .join("");
}

const isStream = (media: string) => media === "text/event-stream" || media === "application/x-ndjson";

function bodyOf(schemas: Schemas, { requestBody }: Operation): string {
  if (requestBody === undefined) return "";
  const note = requestBody.required ? "" : ' <span class="l">may be left out</span>';
  return `<h4>Body${note}</h4>${contentOf(schemas, requestBody.content, false)}`;
}

function answersOf(schemas: Schemas, { responses }: Operation): string {
  const own = Object.entries(responses).filter(([, { $ref }]) => $ref === undefined);
  const shared = Object.keys(responses).filter((status) => responses[status]?.$ref !== undefined);
  const shown = own.map(([status, { description = "", headers = {}, content = {} }]) => {
    const named = Object.entries(headers).map(
      ([name, header]) => `<p class="c"><code>${escapeHtml(name)}</code> ${prose(header.description)}</p>`,
    );
    return `<p><b class="s">${status}</b> ${prose(description)}</p>${named.join("")}${contentOf(schemas, content, true)}`;
  });
  const problems = shared.map((status) => `<code>${status}</code>`).join(" ");
  return `<h4>Answers</h4>${shown.join("")}${problems === "" ? "" : `<p class="l"><a href="#problems">Problems</a> ${problems}</p>`}`;
}

/** One route, folded. The anchor lies inside, so that a link to it unfolds it. */
export function routeSection(schemas: Schemas, method: string, path: string, operation: Operation): string {
  const { operationId, summary, "x-role": role = "anybody" } = operation;
  return `<details><summary><b class="m ${method.toLowerCase()}">${method}</b><span class="r"><code>${escapeHtml(path)}</code><span>${prose(summary)}</span></span><i>${role}</i></summary>
<div class="b"><a class="a" id="${operationId}" href="#${operationId}">link to this</a>
<pre>${escapeHtml(curl(schemas, method, path, operation))}</pre>${parametersOf(schemas, operation)}${bodyOf(schemas, operation)}${answersOf(schemas, operation)}</div></details>`;
}
