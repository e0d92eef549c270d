import type { Approvals } from "../core/approval.ts";
import type { Audit } from "../core/audit.ts";
import type { EngineName } from "../core/engine.ts";
import type { CreateSandbox, Fleet } from "../core/fleet.ts";
import type { HostAccess } from "../core/host-access.ts";
import type { Journal } from "../core/journal.ts";
import type { Signer } from "../core/manifest.ts";
import type { BackgroundPolicy } from "../core/process.ts";
import type { Validation } from "../core/validation.ts";
import type { NetworkPolicies } from "../egress/network-policies.ts";
import type { Images } from "../images/images.ts";
import type { CallContent } from "../journal/record-tool-call.ts";
import type { Packages } from "../package-install/packages.ts";
import type { RunReports } from "../sandboxes/run-reports.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { Skills } from "../sandboxes/skills.ts";
import type { Snapshots } from "../sandboxes/snapshots.ts";
import type { Templates } from "../templates/templates.ts";
import type { Web } from "../web/web.ts";
import type { ToolCounts } from "./tool-counts.ts";

/** The use cases that tools are doors to. */
export interface ToolParts {
  create: CreateSandbox;
  fleet: Fleet<Sandbox>;
  snapshots: Snapshots;
  skills: Skills;
  packages: Packages;
  images: Pick<Images, "list">;
  templates: Pick<Templates, "list">;
  web: Web;
  approvals: Approvals;
  policies: NetworkPolicies;
  host: HostAccess;
  audit: Audit;
  reports: RunReports;
  journal: Journal;
  validation: Validation;
  signer: () => Promise<Signer>;
  counts: ToolCounts;
  /** Policy about what outlives a call. */
  background: BackgroundPolicy;
  callContent: CallContent;
  /** That has really started a sandbox on this machine. */
  strongestEngine: () => Promise<EngineName>;
}
