import { AppError } from "../core/errors.ts";
import { folderRoles } from "../core/folder.ts";
import { addressOptions } from "./address-options.ts";
import { approvalOptions } from "./approval-options.ts";
import { caissonOptions } from "./caisson-options.ts";
import type { Configuration } from "./config.ts";
import { fleetOptions } from "./fleet-options.ts";
import { folderOptions } from "./folder-options.ts";
import { type SettingName, settingNames } from "./settings.ts";

/** Refuses settings that keep data in memory that a daemon must keep on disk. */
function refuseMemory({ settings, origins }: Configuration): void {
  const hint = "remove this setting; memory is only for the library and caisson run";
  if (settings.vault === "memory")
    throw new AppError(
      "unsupported",
      `${origins.vault}: the daemon does not support vault: memory; it stores secrets encrypted on disk`,
      { hint },
    );
  if (settings.audit === "memory")
    throw new AppError(
      "unsupported",
      `${origins.audit}: the daemon does not support audit: memory; it stores the audit log on disk`,
      {
        hint,
      },
    );
}

/** Settings that are sent to the daemon, and the addresses that its supervisor opens. Folders are sent by name, without their paths. */
export function daemonOptions(configuration: Configuration) {
  refuseMemory(configuration);
  const { listen, certificate, address, linkBase, ...names } = addressOptions(configuration);
  const { origins, "webhooks.allow_private": webhooksMayBePrivate, audit_days: auditDays } = configuration.settings;
  const { home: _home, root: _root, runtimePaths: _paths, ...caisson } = caissonOptions(configuration);
  return {
    addresses: { listen, portsPort: configuration.settings["ports.port"], certificate, address },
    linkBase,
    ...names,
    origins,
    webhooksMayBePrivate,
    auditDays,
    audit: {
      content: configuration.settings.audit_content,
      contentDays: configuration.settings.audit_content_days,
      namespaceBytes: configuration.settings.audit_namespace_mb * 1024 ** 2,
    },
    storeName: configuration.settings.sqlite_path,
    settings: settingNames.map((name) => ({
      name,
      value: showValue(configuration, name),
      origin: configuration.origins[name],
    })),
    caisson,
    sandboxRules: configuration.settings["network.max_rules"],
    search: configuration.settings["web.search"],
    gcWatermarkPercent: configuration.settings["gc.watermark_percent"],
    mcpTools: configuration.settings["mcp.tools"],
    fleet: fleetOptions(configuration),
    approvals: approvalOptions(configuration),
  };
}

function showValue(configuration: Configuration, name: SettingName): Configuration["settings"][SettingName] {
  const role = folderRoles.find((known) => name === `folders.${known}`);
  return role === undefined ? configuration.settings[name] : folderOptions(configuration, role).map(({ id }) => id);
}
