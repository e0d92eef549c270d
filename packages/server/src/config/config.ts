import { join } from "node:path";
import { AppError } from "../core/errors.ts";
import { nearMiss } from "../lib/near-miss.ts";
import { type Environment, isOwnVariable, ownVariables } from "./env.ts";
import { configLimits } from "./limits.ts";
import { checkValue, fromText } from "./parse-value.ts";
import { defaultOf, type SettingName, type Settings, settingNames, specOf, type Value } from "./settings.ts";
import { readYamlFile, type YamlEntry } from "./yaml-file.ts";

/** The origin of each value: `default`, `caisson.yaml:3`, `CAISSON_ENGINE`, `options`. */
type Origins = Readonly<Record<SettingName, string>>;

export interface Configuration {
  home: string;
  homeOrigin: string;
  root: string;
  /** Path of the configuration file, which may not exist. */
  file: string;
  settings: Settings;
  origins: Origins;
}

export interface ConfigurationSources {
  environment: Environment;
  /** Instead of caisson.yaml in the data folder; it must exist. Null reads none. */
  configFile?: string | null;
  /** Highest priority. */
  options?: Partial<Settings>;
}

const prefix = "CAISSON_";
const variablesOf = (name: SettingName): string[] => {
  const { env, otherEnv } = specOf(name);
  return otherEnv === undefined ? [env] : [env, otherEnv];
};
const settingVariables = settingNames.flatMap(variablesOf);

/** Refuses unknown variables: a misspelt one would leave a limit unchanged. */
function checkVariables(variables: Environment["variables"]): void {
  for (const [name, value] of Object.entries(variables)) {
    if (!name.startsWith(prefix) || value === undefined || value === "") continue;
    if (settingVariables.includes(name) || isOwnVariable(name)) continue;
    const words = [...settingVariables, ...ownVariables].map((known) => known.slice(prefix.length));
    const meant = nearMiss(name.slice(prefix.length), words);
    throw new AppError("invalid", `unknown variable ${name.slice(0, configLimits.shownCharacters)}`, {
      hint:
        meant === undefined
          ? "unset it; docs/configuration.md lists all variables that start with CAISSON_"
          : `did you mean ${prefix}${meant}?`,
    });
  }
}

type Values = Record<string, { value: Value; origin: string }>;

function defaults(): Values {
  return Object.fromEntries(
    settingNames.map((name) => [name, { value: defaultOf(specOf(name)), origin: "default" }] as const),
  );
}

function unknownKey(place: string, key: string): AppError {
  const meant = nearMiss(key, settingNames);
  return new AppError("invalid", `${place}: unknown setting '${key}'`, {
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
    const [given, other] = variablesOf(name).filter((variable) => (variables[variable] ?? "") !== "");
    if (given === undefined) continue;
    if (other !== undefined) throw new AppError("invalid", `${other}: ${name} is already set by ${given}`);
    values[name] = { value: checkValue(spec, fromText(spec, variables[given] ?? ""), given), origin: given };
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

/** Reads defaults, then caisson.yaml, then the environment, then options. Refuses invalid values instead of ignoring them. */
export async function loadConfiguration(sources: ConfigurationSources): Promise<Configuration> {
  const { environment } = sources;
  checkVariables(environment.variables);
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
    origins: Object.fromEntries(rows.map(([name, { origin }]) => [name, origin])) as Origins,
  };
}
