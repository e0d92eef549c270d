import { type Operation, routeSection } from "./docs-route.ts";
import { fieldRows, type Schemas } from "./docs-schema.ts";
import { escapeHtml, page } from "./html.ts";

/** As openapi.ts makes it. */
export interface Document {
  info: { version: string };
  servers: readonly [{ url: string }];
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: { schemas: Schemas };
}

/** Every route by its tag, as the OpenAPI document has it, readable without a script. */
export function docsPage({ info, servers: [{ url }], paths, components: { schemas } }: Document): string {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const tags = [...new Set(routes.map(({ operation }) => operation.tags[0]))];
  const of = (tag: string) => routes.filter(({ operation }) => operation.tags[0] === tag);
  const contents = tags.map(
    (tag) => `<li><a href="#${tag}">${escapeHtml(tag)}</a> <span>${of(tag).length}</span></li>`,
  );
  const sections = tags.map(
    (tag) =>
      `<h2 id="${tag}"><a href="#${tag}">${escapeHtml(tag)}</a></h2>${of(tag)
        .map(({ method, path, operation }) => routeSection(schemas, method, path, operation))
        .join("\n")}`,
  );
  return page(
    "Caisson: REST API",
    `<div class="docs"><nav><a href="#top">Caisson</a><ul>${contents.join("")}<li><a href="#problems">problems</a></li></ul></nav>
<main id="top"><h1>Caisson: REST API <small>${escapeHtml(info.version)}</small></h1>
<p>JSON in snake_case; unknown fields are refused, and <b>*</b> marks those that must be there. On the right stands the role that a key
needs at least. It goes into <code>X-API-Key</code> or <code>Authorization: Bearer</code>; the examples take it from the shell:</p>
<pre>URL=${escapeHtml(url === "/" ? "http://127.0.0.1:7420" : url)} KEY=$(cat "$CAISSON_HOME/admin-key")</pre>
<p>Each route with a role also takes <code>X-Caisson-Namespace</code> (for administrators: act in this namespace) and
<code>X-Caisson-Priority</code> (-100 to 100: which of the namespace's jobs that wait goes first).</p>
<p>The same for programs: <a href="/openapi.json">/openapi.json</a>, OpenAPI 3.1.</p>${sections.join("")}
<h2 id="problems"><a href="#problems">problems</a></h2><p>What is refused or fails is answered with a problem document (RFC 9457),
<code>application/problem+json</code>:</p><table>${fieldRows(schemas, { $ref: "Problem" }, true).join("")}</table></main></div>`,
  );
}
