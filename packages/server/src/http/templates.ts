import { z } from "zod";
import { createTemplate, showTemplate, template, templateId, toTemplate } from "../schemas/template.ts";
import type { TemplateBuilds } from "../templates/template-builds.ts";
import type { Templates } from "../templates/templates.ts";
import { httpLimits } from "./limits.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/templates";
const one = `${path}/{template}`;
const tag = "templates";

interface TemplateRouteParts {
  templates: Templates;
  templateBuilds: TemplateBuilds;
}

/** Where sandboxes of a kind begin: files, packages, and what a warm-up left in memory (IMG-06). */
export function templateRoutes({ templates, templateBuilds: builds }: TemplateRouteParts): Route[] {
  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Creates a template; it is built in a separate sandbox",
      scope: "operate",
      audit: "fleet",
      body: createTemplate,
      bodyBytes: httpLimits.codeBodyBytes,
      problems: [404, 422, 504],
      responses: {
        202: { description: "the template is being built; its state and step show the progress", schema: template },
      },
      handler: async ({ caller, body }) => {
        const record = await builds.create(caller, toTemplate(body));
        return { status: 202, json: showTemplate(record), headers: { location: `${path}/${record.id}` } };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists templates, newest first",
      scope: "read",
      audit: null,
      responses: { 200: { description: "all templates of the namespace", schema: z.array(template) } },
      handler: async ({ caller }) => ({ status: 200, json: templates.list(caller).map(showTemplate) }),
    }),
    defineRoute({
      method: "GET",
      path: one,
      tag,
      summary: "Returns a template",
      scope: "read",
      audit: null,
      params: templateId,
      responses: { 200: { description: "the template", schema: template } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showTemplate(templates.get(caller, params.template)),
      }),
    }),
    defineRoute({
      method: "DELETE",
      path: one,
      tag,
      summary: "Deletes a template, or cancels its build; refused while a sandbox uses its files",
      scope: "operate",
      audit: "fleet",
      params: templateId,
      responses: { 204: { description: "the template is deleted" } },
      handler: async ({ caller, params }) => {
        await builds.delete(caller, params.template);
        return { status: 204 };
      },
    }),
  ];
}
