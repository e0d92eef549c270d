import type { Configuration } from "../config/config.ts";
import { defaultOf, type SettingName, settingNames, specOf, type Value } from "../config/settings.ts";
import { formatOptions } from "./options.ts";
import { type ReportPlan, reportOptionSpecs } from "./report-options.ts";
import type { RunIo } from "./run.ts";
import { paint, visible } from "./terminal.ts";

function showValue(value: Value): string {
  if (value === null) return "none";
  if (typeof value === "object") return value.length === 0 ? "none" : value.join(", ");
  return String(value);
}

const nameWidth = Math.max(...settingNames.map(({ length }) => length)) + 2;

function describe(name: SettingName): string {
  const spec = specOf(name);
  const range = spec.type === "number" ? `, range: ${spec.range.min} to ${spec.range.max}` : "";
  const choices = spec.type === "choice" ? `, one of: ${spec.choices.join(", ")}` : "";
  return `  ${name.padEnd(nameWidth)}${spec.env}\n      ${spec.help} (default: ${showValue(defaultOf(spec))}${range}${choices})`;
}

export function configHelpText(): string {
  return `usage: caisson config [OPTIONS]

Prints every setting, its value, and where the value is set. Sources, from lowest to highest priority: defaults,
caisson.yaml in the data folder, environment variables, command options.

${formatOptions(reportOptionSpecs)}

Settings (key in caisson.yaml, environment variable). A dot in a key is one level of nesting.

${settingNames.map(describe).join("\n")}

Other variables:

  CAISSON_HOME     data folder
  CAISSON_CONFIG   configuration file outside the data folder
  CAISSON_DEBUG=1  print stack traces with errors
`;
}

export function printConfig(configuration: Configuration, plan: ReportPlan, io: RunIo): void {
  const { home, file, settings, origins } = configuration;
  if (plan.json) {
    const rows = settingNames.map((name) => [name, { value: settings[name], origin: origins[name] }]);
    io.stdout.write(`${JSON.stringify({ home, file, settings: Object.fromEntries(rows) }, null, 2)}\n`);
    return;
  }
  const rows = [
    ["home", home, configuration.homeOrigin] as const,
    ...settingNames.map((name) => [name, showValue(settings[name]), origins[name]] as const),
  ];
  const width = (column: 0 | 1) => Math.max(...rows.map((row) => visible(row[column]).length)) + 2;
  for (const [name, value, origin] of rows) {
    const shown = visible(value).padEnd(width(1));
    const from = paint(io.terminal, origin === "default" ? "dim" : "green", visible(origin));
    io.stdout.write(`${name.padEnd(width(0))}${shown}${from}\n`);
  }
}
