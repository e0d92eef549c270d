import { join } from "node:path";
import { AppError } from "../core/errors.ts";
import { type Environment, ownVariables, secretPrefix } from "./env.ts";
import { nearMiss } from "./near-miss.ts";
import { checkValue, fromText } from "./parse-value.ts";
import { defaultOf, type SettingName, type Settings, settingNames, specOf, type Value } from "./settings.ts";
import { readYamlFile, type YamlEntry } from "./yaml-file.ts";

/** Where a value comes from: `default`, `caisson.yaml:3`, `CAISSON_ENGINE`, `options`. */
type Origins = Readonly<Record<SettingName, string>>;

export interface Configuration {
  home: string;
  homeOrigin: string;
  root: string;
  /** The file that was looked for, whether or not it is there. */
  file: string;
  settings: Settings;
  origins: Origins;
  /** Variables that look like a setting's, and are none: `CAISSON_TIMEOUTT, did you mean CAISSON_TIMEOUT?` */
  strays: string[];
}

export interface ConfigurationSources {
  environment: Environment;
  /** Instead of caisson.yaml in the data folder; it must exist. Null reads none. */
  configFile?: string | null;
  /** These win over everything. */
  options?: Partial<Settings>;
}

const prefix = "CAISSON_";
const variableNames = settingNames.map((name) => specOf(name).env.slice(prefix.length));

const isOurs = (name: string) => name.startsWith(prefix) && !name.startsWith(secretPrefix);

/** Other programs may have variables with our prefix: only what was probably meant is told, and nothing refused. */
function findStrays(variables: Environment["variables"]): string[] {
  const names = Object.keys(variables).filter((name) => isOurs(name) && !ownVariables.includes(name));
  return names.flatMap((name) => {
    const word = name.slice(prefix.length);
    const meant = variableNames.includes(word) ? undefined : nearMiss(word, variableNames);
    return meant === undefined ? [] : [`${name} is no setting; did you mean ${prefix}${meant}?`];
  });
}

type Values = Record<string, { value: Value; origin: string }>;

function defaults(): Values {
  return Object.fromEntries(
    settingNames.map((name) => [name, { value: defaultOf(specOf(name)), origin: "default" }] as const),
  );
}

function unknownKey(place: string, key: string): AppError {
  const meant = nearMiss(key, settingNames);
  return new AppError("invalid", `${place}: there is no setting '${key}'`, {
    hint: meant === undefined ? "caisson config --help lists the settings" : `did you mean ${meant}?`,
  });
}

function findSetting(key: string): SettingName | undefined {
  return settingNames.find((name) => name === key || specOf(name).alias === key);
}

function takeFile(values: Values, entries: readonly YamlEntry[]): void {
  const seen = new Map<SettingName, string>();
  for (const { key, value, place } of entries) {
    const name = findSetting(key);
    if (name === undefined) throw unknownKey(place, key);
    const first = seen.get(name);
    if (first !== undefined) throw new AppError("invalid", `${place}: ${name} is already set at ${first}`);
    seen.set(name, place);
    values[name] = { value: checkValue(specOf(name), value, `${place}: ${key}`), origin: place };
  }
}

function takeEnvironment(values: Values, variables: Environment["variables"]): void {
  for (const name of settingNames) {
    const spec = specOf(name);
    const text = variables[spec.env];
    if (text === undefined || text === "") continue;
    values[name] = { value: checkValue(spec, fromText(spec, text), spec.env), origin: spec.env };
  }
}

function takeOptions(values: Values, options: Partial<Settings>): void {
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const name = findSetting(key);
    if (name === undefined) throw unknownKey("options", key);
    values[name] = { value: checkValue(specOf(name), value, `options: ${key}`), origin: "options" };
  }
}

/** Defaults, then caisson.yaml, then the environment, then options; what cannot be honoured is refused, never passed over. */
export async function loadConfiguration(sources: ConfigurationSources): Promise<Configuration> {
  const { environment } = sources;
  const named = sources.configFile === undefined ? environment.configFile : sources.configFile;
  const file = named ?? join(environment.home, "caisson.yaml");
  const values = defaults();
  if (sources.configFile !== null) takeFile(values, await readYamlFile(file, named !== undefined));
  takeEnvironment(values, environment.variables);
  takeOptions(values, sources.options ?? {});
  const rows = Object.entries(values);
  return {
    home: environment.home,
    homeOrigin: environment.homeOrigin,
    root: environment.root,
    file,
    settings: Object.fromEntries(rows.map(([name, { value }]) => [name, value])) as Settings,
    strays: findStrays(environment.variables),
    origins: Object.fromEntries(rows.map(([name, { origin }]) => [name, origin])) as Origins,
  };
}
