import type { Configuration } from "../config/config.ts";
import type { Variables } from "../config/env.ts";
import { checkAllowRule } from "../egress/check-rule.ts";
import { readRules } from "../egress/open-policies.ts";
import { checkFolder } from "../host/folders.ts";
import { type FindParts, type FoundPackages, findPackages } from "../packages/find-packages.ts";
import { hostFiles } from "../packages/host-files.ts";

/** Reads what this machine and the operator say about packages. */
export async function readPackages(
  { settings, home }: Configuration,
  variables: Variables,
  more: Pick<FindParts, "apt" | "log">,
): Promise<FoundPackages> {
  const hosts = settings["packages.hosts"];
  return findPackages({
    host: hostFiles(variables, checkAllowRule),
    hosts: hosts.length === 0 ? [] : await readRules(hosts),
    checkFolder: (folder) => checkFolder(folder, "input", home),
    ...more,
  });
}
