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

function describe(name: SettingName): string {
  const spec = specOf(name);
  const range = spec.type === "number" ? `, ${spec.range.min} to ${spec.range.max}` : "";
  const choices = spec.type === "choice" ? `, of ${spec.choices.join(", ")}` : "";
  return `  ${name.padEnd(22)}${spec.env}\n      ${spec.help} (default ${showValue(defaultOf(spec))}${range}${choices})`;
}

export function configHelpText(): string {
  return `usage: caisson config [OPTIONS]

Prints every setting as it holds now, and where its value comes from: defaults, then caisson.yaml in the data folder, then
the environment, then options of a command, each winning over those before it.

${formatOptions(reportOptionSpecs)}

Settings: the key in caisson.yaml (a dot is a level), the environment variable, what it means.

${settingNames.map(describe).join("\n")}

  CAISSON_HOME          the data folder
  CAISSON_CONFIG        a configuration file that lies elsewhere
  CAISSON_DEBUG=1       errors show their stack
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
