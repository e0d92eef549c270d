import type { Command } from "../../core/command.ts";
import type { CommandPolicy } from "../../core/command-policy.ts";
import type { FleetEgress, PolicyDraft } from "../../core/egress-policies.ts";
import { AppError } from "../../core/errors.ts";
import type { CreateRequest, FleetSettings } from "../../core/fleet.ts";
import type { ChosenImage, EnsureImage, ImageChoice } from "../../core/image-record.ts";
import type { Caller } from "../../core/principal.ts";
import type { ReadyTemplate, TemplateChoice } from "../../core/template.ts";
import { defined } from "../../lib/defined.ts";
import { decideCommand } from "./decide-command.ts";
import { denied } from "./jobs.ts";
import { type ResolvedRequest, resolveDefaults } from "./resolve-defaults.ts";

export interface ResolveParts {
  settings: FleetSettings;
  egress: Pick<FleetEgress, "check">;
  images: ImageChoice;
  templates: TemplateChoice;
}

/** A checked request, whose image may have yet to be made: `chooseImage` waits for it. */
export interface CheckedRequest extends Omit<ResolvedRequest, "image"> {
  chooseImage: (ensure: EnsureImage) => Promise<ChosenImage>;
}

/** A request with what its template says, and with its defaults. */
export function resolveRequest(caller: Caller, request: CreateRequest, parts: ResolveParts): CheckedRequest {
  const { settings, egress, images, templates } = parts;
  const check = (network: PolicyDraft) => egress.check(caller, network);
  if (caller.serverId !== undefined) {
    const root = request.root;
    if (root === undefined || root.layerId === null)
      throw new AppError("internal", "a hosted server's sandbox needs a root of its own");
    return { ...resolveDefaults(request, settings, check), chooseImage: async () => root };
  }
  if (request.template === undefined) {
    const image = request.image ?? settings.image;
    if (!images.isComing?.(image)) images.choose(image);
    const chooseImage = async (ensure: EnsureImage) => {
      await ensure(caller, image);
      return images.choose(image);
    };
    return { ...resolveDefaults(request, settings, check), chooseImage };
  }
  const template = templates.choose(caller, request.template);
  allowedWarmUp(settings.commands, template.warmUp);
  const resolved = resolveDefaults(onTemplate(request, template), settings, check);
  return { ...resolved, template, chooseImage: async () => template.image };
}

const decided = ["image", "engine", "snapshotId", "inputFolder"] as const;

/** Merges a request into its template. Fields that only the template decides are refused. */
function onTemplate({ template: _, ...request }: CreateRequest, template: ReadyTemplate): CreateRequest {
  for (const name of decided)
    if (request[name] !== undefined)
      throw new AppError("invalid", `the template ${template.name} sets ${words[name]}; a request cannot change that`, {
        hint: "omit it, or create another template",
      });
  const { limits = {}, env = {} } = request;
  if (limits.storageBytes !== undefined && limits.storageBytes !== template.limits.storageBytes)
    throw new AppError("invalid", `the template ${template.name} sets storage; a request cannot change that`);
  return {
    ...request,
    engine: template.engine,
    limits: { ...template.limits, ...limits },
    env: { ...template.env, ...env },
    ...defined({ network: request.network ?? template.network ?? undefined }),
  };
}

const words: Record<(typeof decided)[number], string> = {
  image: "the image",
  engine: "the engine",
  snapshotId: "files, and so about snapshots",
  inputFolder: "files, and so about input folders",
};

/** The policy may have become stricter since it was made (S78). Who was to be asked was asked then. */
export function allowedWarmUp(policy: CommandPolicy, warmUp: Command | null): Command | null {
  if (warmUp === null) return null;
  const decision = decideCommand(policy, warmUp);
  if (decision.verdict === "deny") throw denied(decision);
  return warmUp;
}
