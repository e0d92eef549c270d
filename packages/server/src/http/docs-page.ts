import { permissions } from "../core/principal.ts";
import type { Route } from "./route.ts";

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h2{margin-top:2rem;border-bottom:1px solid #ddd}code{font:13px ui-monospace,monospace}
table{border-collapse:collapse;width:100%}td{padding:.3rem .6rem .3rem 0;vertical-align:top}
.m{font-weight:600;width:4.5rem}.p{color:#777;text-align:right}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}h2{border-color:#444}a{color:#8bf}}`;

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** A page of this server: text and one style sheet, no script. */
export function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><link rel="stylesheet" href="/docs/style.css"></head><body>${body}</body></html>`;
}

function row({ method, path, summary, permission }: Route): string {
  const who = permission === null ? "anybody" : permissions[permission];
  return `<tr><td class="m"><code>${method}</code></td><td><code>${escapeHtml(path)}</code><br>${escapeHtml(summary)}</td><td class="p">${who}</td></tr>`;
}

/** Every route by its tag, readable without a script. */
export function docsPage(routes: readonly Route[]): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  const sections = tags.map(
    (tag) =>
      `<h2>${escapeHtml(tag)}</h2><table>${routes
        .filter((route) => route.tag === tag)
        .map(row)
        .join("")}</table>`,
  );
  return page(
    "Caisson: REST API",
    `<h1>Caisson: REST API</h1>
<p>Send a key in <code>X-API-Key</code> or <code>Authorization: Bearer</code>. The last column says which role a key needs at
least. Schemas are in <a href="/openapi.json">/openapi.json</a>. Errors are problem documents (RFC 9457).</p>${sections.join("")}`,
  );
}

export const docsStyle = style;
