import { homedir } from "node:os";
import { join } from "node:path";
import { env, geteuid } from "node:process";

export type Variables = Readonly<Record<string, string | undefined>>;

/** The parsed environment. This file is the only one that reads it. */
export interface Environment {
  home: string;
  /** `CAISSON_HOME` or `default`. */
  homeOrigin: string;
  /** The checkout, or the folder of the launcher. */
  root: string;
  /** CAISSON_CONFIG: a configuration file outside the data folder. */
  configFile?: string;
  /** All variables: settings are read from them, and `--env NAME` copies their values. */
  variables: Variables;
  noColor: boolean;
  /** CAISSON_DEBUG: errors show their stack. */
  debug: boolean;
}

export const vaultKeyVariable = "CAISSON_VAULT_KEY";
export const secretPrefix = "CAISSON_SECRET_";

/** Variables that are not settings, including those of tests. */
export const ownVariables = [
  "CAISSON_HOME",
  "CAISSON_ROOT",
  "CAISSON_CONFIG",
  "CAISSON_DEBUG",
  "CAISSON_URL",
  "CAISSON_API_KEY",
  vaultKeyVariable,
  "CAISSON_SEED",
  "CAISSON_SOAK",
];

export function isOwnVariable(name: string): boolean {
  return ownVariables.includes(name) || name.startsWith(secretPrefix) || name.startsWith("CAISSON_TEST_");
}

/** True if CAISSON_URL selects a daemon; an empty value selects none. */
export const namesDaemon = ({ CAISSON_URL }: Variables) => CAISSON_URL !== undefined && CAISSON_URL !== "";

/** Reads the environment of this process, or the given variables instead. */
export function readEnvironment(variables: Variables = env): Environment {
  const given = (name: string) => variables[name] || undefined;
  const isRoot = geteuid?.() === 0;
  const configFile = given("CAISSON_CONFIG");
  return {
    home: given("CAISSON_HOME") ?? (isRoot ? "/var/lib/caisson" : join(homedir(), ".caisson")),
    homeOrigin: given("CAISSON_HOME") === undefined ? "default" : "CAISSON_HOME",
    root: given("CAISSON_ROOT") ?? join(import.meta.dirname, "../../../.."),
    variables,
    debug: variables.CAISSON_DEBUG === "1",
    noColor: given("NO_COLOR") !== undefined,
    ...(configFile === undefined ? {} : { configFile }),
  };
}
