import { z } from "zod";
import type { Fleet } from "../core/fleet.ts";
import { defined } from "../lib/defined.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { Skills } from "../sandboxes/skills.ts";
import { skillLimits } from "../sandboxes/snapshot-limits.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import { filePath, sandboxId } from "../schemas/sandbox.ts";
import {
  installedSkill,
  installedSkills,
  installSkills,
  showInstalled,
  showInstalledSkill,
  showSkill,
  showSkillFile,
  skill,
  skillFile,
  skillId,
} from "../schemas/skill.ts";
import { defineRoute, type Route } from "./route.ts";
import { sendFile } from "./send-file.ts";
import { Upload } from "./upload.ts";

const path = "/api/v1/skills";
const tag = "skills";
/** Folders with SKILL.md: stored once, installed by id or name (IMG-05). */
export function skillRoutes(fleet: Fleet<Sandbox>, skills: Skills): Route[] {
  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Stores a skill from a tar archive (plain or gzip) of a folder with SKILL.md",
      scope: "use",
      audit: "fleet",
      raw: ["application/x-tar", "application/gzip", "*/*"],
      bodyBytes: skillLimits.uploadBytes,
      responses: {
        201: { description: "the new skill; an existing version with other files is refused with 409", schema: skill },
        200: { description: "the skill; the same files were already stored", schema: skill },
      },
      handler: async ({ caller, body, openStream }) => {
        const release = openStream();
        try {
          const { record, isNew } = await skills.add(caller, new Upload(body));
          const headers = { location: `${path}/${record.id}` };
          return { status: isNew ? 201 : 200, json: showSkill(record), headers };
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
      scope: "read",
      audit: null,
      query: pageQuery.extend({
        name: z.string().min(1).max(skillLimits.nameCharacters).optional(),
        version: z.string().min(1).max(skillLimits.versionCharacters).optional(),
      }),
      responses: {
        200: {
          description: "a page of skills",
          schema: z.array(skill),
          headers: pageHeaders,
        },
      },
      handler: async ({ caller, query, request }) => {
        const { limit, cursor, name, version } = query;
        const records = await skills.list(caller, { limit, ...defined({ cursor, name, version }) });
        const headers = linkAfter(records, limit, request.url, ({ id }) => id);
        return { status: 200, json: records.map(showSkill), headers };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{skill_id}`,
      tag,
      summary: "Returns a skill",
      scope: "read",
      audit: null,
      params: skillId,
      responses: { 200: { description: "the skill", schema: skill } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showSkill(await skills.get(caller, params.skill_id)),
      }),
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{skill_id}/files`,
      tag,
      summary: "Lists the files of a skill",
      scope: "read",
      audit: null,
      params: skillId,
      responses: { 200: { description: "all files of the skill", schema: z.array(skillFile) } },
      handler: async ({ caller, params }) => {
        const found = await skills.files(caller, params.skill_id);
        return { status: 200, json: found.map(showSkillFile) };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{skill_id}/content/{path}`,
      tag,
      summary: "Returns a file of a skill, such as SKILL.md",
      scope: "read",
      audit: null,
      params: skillId.extend({ path: filePath.min(1) }),
      responses: { 200: { description: "the file, as an attachment", media: ["application/octet-stream"] } },
      handler: async ({ caller, params, openStream }) =>
        sendFile(params.path, await skills.read(caller, params.skill_id, params.path), openStream),
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/{skill_id}`,
      tag,
      summary: "Deletes a skill; sandboxes keep installed copies",
      scope: "use",
      audit: "fleet",
      params: skillId,
      responses: { 204: { description: "the skill is deleted" } },
      handler: async ({ caller, params }) => {
        await skills.delete(caller, params.skill_id);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/skills",
      tag,
      summary: "Installs skills into /workspace/skills, each in a folder with the skill's name",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      body: installSkills,
      responses: { 200: { description: "the installed skills", schema: installedSkills } },
      handler: async ({ caller, params, body }) => {
        const outcome = await fleet.use(caller, params.id, (sandbox) =>
          skills.install(caller, sandbox, body.skill_ids),
        );
        return { status: 200, json: showInstalled(outcome) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/api/v1/sandboxes/{id}/skills",
      tag,
      summary: "Lists the skills installed in a sandbox, from its /workspace/skills/index.json",
      scope: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "skills by name", schema: z.array(installedSkill) } },
      handler: async ({ caller, params }) => {
        const found = await fleet.use(caller, params.id, (sandbox) => skills.installed(sandbox));
        return { status: 200, json: found.map(showInstalledSkill) };
      },
    }),
  ];
}
