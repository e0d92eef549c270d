import type { Configuration } from "../config/config.ts";
import type { Variables } from "../config/env.ts";
import { checkAllowRule } from "../egress/check-rule.ts";
import { readRules } from "../egress/open-policies.ts";
import { type FindParts, type FoundPackages, findPackages } from "../package-install/find-packages.ts";
import { hostFiles } from "../package-install/machine-files.ts";
import { checkFolder } from "../supervision/folders.ts";

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
