import type { ServerSettings } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { readRuleText } from "../../egress/rule-text.ts";
import { splitCommand } from "../../host-access/split.ts";
import { defined } from "../../lib/defined.ts";
import type { OptionSpecs, ParsedOptions } from "../options.ts";
import { megabytes } from "./limit-options.ts";
import { pairs } from "./sandboxes.ts";

/** Settings of a hosted server. */
export const settingOptions = {
  command: { type: "string", value: "COMMAND", help: "command that starts the server (default: found by the build)" },
  port: { type: "string", value: "N", help: "port of a server that speaks HTTP (default: 8000)" },
  image: { type: "string", value: "NAME", help: "image to build on (default: mcp-runtime)" },
  env: {
    type: "string",
    multiple: true,
    value: "NAME=VALUE",
    help: "environment variable, repeatable; use --secret for keys",
  },
  secret: {
    type: "string",
    multiple: true,
    value: "NAME",
    help: "secret of the vault that the server reads from /run/secrets/NAME, repeatable (operators only)",
  },
  "allow-domain": {
    type: "string",
    multiple: true,
    value: "RULE",
    help: "domain that the server may reach, such as api.github.com; repeatable, at most 10; everything else is denied",
  },
  range: {
    type: "string",
    multiple: true,
    value: "CIDR",
    help: "private network that the domains may resolve to, such as 10.0.0.0/24; repeatable",
  },
  memory: { type: "string", short: "m", value: "SIZE", help: "memory limit, 256M to 8G (default: 512M)" },
  "cpu-shares": { type: "string", value: "N", help: "share of the CPU, 512 to 4096 (default: 1024)" },
  storage: { type: "string", value: "SIZE", help: "size of /data, 5G to 100G (default: 5G)" },
  processes: { type: "string", value: "N", help: "limit of processes and threads, 64 to 512 (default: 256)" },
  idle: { type: "string", value: "SECONDS", help: "stop the server after this time without calls (default: 300)" },
} as const satisfies OptionSpecs;

/** Only the settings that are given: the others stay as they are. */
export function settingsOf(options: ParsedOptions): ServerSettings {
  const command = options.text("command");
  const secrets = options.texts("secret");
  return defined({
    command: command === undefined ? undefined : splitCommand(command),
    port: options.number("port"),
    image: options.text("image"),
    env: pairs(options, "env"),
    secrets: secrets.length === 0 ? undefined : secrets,
    network: networkOf(options),
    memory_mb: megabytes(options, "memory"),
    cpu_shares: options.number("cpu-shares"),
    storage_mb: megabytes(options, "storage"),
    max_processes: options.number("processes"),
    idle_timeout_seconds: options.number("idle"),
  });
}

const cleared = {
  command: { command: null },
  env: { env: {} },
  secret: { secrets: [] },
  "allow-domain": { network: {} },
} as const satisfies Record<string, ServerSettings>;

export const clearOption = {
  clear: {
    type: "string",
    multiple: true,
    value: "SETTING",
    help: `setting to empty, repeatable: ${Object.keys(cleared).join(", ")}`,
  },
} as const satisfies OptionSpecs;

/** Settings that become empty. One that is also given a value is refused. */
export function clearedBy(options: ParsedOptions, given: ServerSettings): ServerSettings {
  return Object.assign({}, ...options.texts("clear").map((name) => clearedSetting(name, given)));
}

function clearedSetting(name: string, given: ServerSettings): ServerSettings {
  const setting = Object.entries(cleared).find(([one]) => one === name)?.[1];
  if (setting === undefined)
    throw new AppError("invalid", `cannot clear ${JSON.stringify(name)}`, {
      hint: `settings that can be empty: ${Object.keys(cleared).join(", ")}`,
    });
  if (Object.keys(setting).some((field) => field in given))
    throw new AppError("invalid", `--clear ${name} and --${name} exclude each other`, {
      hint: `--${name} alone replaces all values`,
    });
  return setting;
}

function networkOf(options: ParsedOptions): ServerSettings["network"] {
  const [rules, ranges] = [options.texts("allow-domain"), options.texts("range")];
  if (rules.length === 0 && ranges.length > 0)
    throw new AppError("invalid", "--range requires --allow-domain", { hint: "a range is a condition of a domain" });
  if (rules.length === 0) return undefined;
  if (ranges.length === 0) return { allow: rules };
  type Rule = Exclude<NonNullable<NonNullable<ServerSettings["network"]>["allow"]>[number], string>;
  return { allow: rules.map((rule) => ({ ...(readRuleText(rule) as Rule), ranges })) };
}
