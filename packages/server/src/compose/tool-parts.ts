import type { ContentPolicy } from "../core/audit.ts";
import { ToolCounts } from "../tools/tool-counts.ts";
import type { ToolParts } from "../tools/tool-parts.ts";
import type { Service } from "./service.ts";

/** Picks the use cases that tools call. */
export function toolPartsOf(
  { caisson, store, storage, redactors, ...service }: Service,
  policy: ContentPolicy = "none",
): ToolParts {
  const { create, fleet, packages, images, templates, web, approvals, policies, host, journal, validation } = service;
  const { reports } = service;
  return {
    ...{ create, fleet, packages, images, templates, web, approvals, policies, host, journal, validation },
    snapshots: storage.snapshots,
    skills: storage.skills,
    audit: store.audit,
    reports,
    signer: () => caisson.signer(),
    counts: new ToolCounts(),
    background: caisson.background,
    callContent: { policy, redactors },
    strongestEngine: () => caisson.chooseEngine("auto"),
  };
}
