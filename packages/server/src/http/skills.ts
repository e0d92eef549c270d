import { z } from "zod";
import { defined } from "../core/defined.ts";
import type { Fleet } from "../core/fleet.ts";
import type { SkillRecord } from "../core/skill.ts";
import { skillLimits } from "../core/snapshot-limits.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { Skills } from "../sandboxes/skills.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { defineRoute, type Route } from "./route.ts";
import { Upload } from "./upload.ts";

const path = "/api/v1/skills";
const tag = "skills";
const id = z.string().min(1).max(64);
const skillId = z.strictObject({ skill_id: id.describe("of the skill") });

const skill = z
  .object({
    id: z.string().describe("the digest of what it holds"),
    name: z.string(),
    description: z.string(),
    file_count: z.number().int(),
    total_size: z.number().int().describe("bytes of all files"),
    created_at: z.iso.datetime(),
    created_by: z.string(),
  })
  .meta({ id: "Skill" });

function show(record: SkillRecord): z.output<typeof skill> {
  return {
    id: record.id,
    name: record.name,
    description: record.description,
    file_count: record.files,
    total_size: record.totalBytes,
    created_at: new Date(record.createdAtMs).toISOString(),
    created_by: record.createdBy,
  };
}

/** Folders with SKILL.md: stored once, installed by id (IMG-05). */
export function skillRoutes(fleet: Fleet<Sandbox>, skills: Skills): Route[] {
  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Stores a skill: a tar archive, plain or gzip, of a folder with SKILL.md",
      permission: "use",
      audit: "fleet",
      raw: ["application/x-tar", "application/gzip", "*/*"],
      bodyBytes: skillLimits.uploadBytes,
      responses: {
        201: { description: "a new one", schema: skill },
        200: { description: "the same files were there already", schema: skill },
      },
      handler: async ({ caller, body, openStream }) => {
        const release = openStream();
        try {
          const { record, isNew } = await skills.add(caller, new Upload(body));
          const headers = { location: `${path}/${record.id}` };
          return { status: isNew ? 201 : 200, json: show(record), headers };
        } finally {
          release();
        }
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists skills, newest first",
      permission: "read",
      audit: null,
      query: pageQuery.extend({ name: z.string().min(1).max(skillLimits.nameCharacters).optional() }),
      responses: {
        200: {
          description: "a page of them",
          schema: z.array(skill),
          headers: pageHeaders,
        },
      },
      handler: async ({ caller, query, request }) => {
        const { limit, cursor, name } = query;
        const records = await skills.list(caller, { limit, ...defined({ cursor, name }) });
        const headers = linkAfter(records, limit, request.url, ({ id }) => id);
        return { status: 200, json: records.map(show), headers };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{skill_id}`,
      tag,
      summary: "Shows a skill",
      permission: "read",
      audit: null,
      params: skillId,
      responses: { 200: { description: "the skill", schema: skill } },
      handler: async ({ caller, params }) => ({ status: 200, json: show(await skills.get(caller, params.skill_id)) }),
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/{skill_id}`,
      tag,
      summary: "Deletes a skill; where it is installed it stays",
      permission: "use",
      audit: "fleet",
      params: skillId,
      responses: { 204: { description: "it is gone" } },
      handler: async ({ caller, params }) => {
        await skills.delete(caller, params.skill_id);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/skills",
      tag,
      summary: "Installs skills into /workspace/skills, each in a folder of its name",
      permission: "use",
      audit: "fleet",
      params: sandboxId,
      body: z.strictObject({ skill_ids: z.array(id).min(1).max(skillLimits.installed) }).meta({ id: "InstallSkills" }),
      responses: {
        200: {
          description: "names of skills",
          schema: z
            .object({ installed: z.array(z.string()), already_installed: z.array(z.string()) })
            .meta({ id: "InstalledSkills" }),
        },
      },
      handler: async ({ caller, params, body }) => {
        const { installed, alreadyInstalled } = await fleet.use(caller, params.id, (sandbox) =>
          skills.install(caller, sandbox, body.skill_ids),
        );
        return { status: 200, json: { installed, already_installed: alreadyInstalled } };
      },
    }),
  ];
}
