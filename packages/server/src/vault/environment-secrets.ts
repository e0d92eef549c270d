import { AppError } from "../core/errors.ts";
import { secretNamePattern } from "../core/secret.ts";
import { checkLength } from "./check-value.ts";

/** Secrets that the daemon was given in its environment, by namespace and name. */
export type EnvironmentSecrets = ReadonlyMap<string, ReadonlyMap<string, Buffer>>;

const prefix = "CAISSON_SECRET_";

/**
 * `CAISSON_SECRET_{NAMESPACE}_{KEY}`. The first lone underscore ends the namespace; in it two stand for a dash and three for an
 * underscore, so that no variable belongs to two namespaces (SEC-05).
 */
export function environmentSecrets(variables: Readonly<Record<string, string>>): EnvironmentSecrets {
  const found = new Map<string, Map<string, Buffer>>();
  for (const [variable, text] of Object.entries(variables)) {
    const parts = /^([A-Z0-9]+(?:_{2,3}[A-Z0-9]+)*)_([A-Za-z].*)$/.exec(variable.slice(prefix.length));
    const [, spelled = "", name = ""] = parts ?? [];
    if (!variable.startsWith(prefix) || !secretNamePattern.test(name))
      throw new AppError("invalid", `${variable.slice(0, 120)} is not the name of a secret's variable`, {
        hint: "write CAISSON_SECRET_{NAMESPACE}_{KEY}, with two underscores for a dash and three for an underscore in NAMESPACE",
      });
    const value = Buffer.from(text);
    checkLength(value, variable);
    const namespace = spelled.replaceAll("___", "\0").replaceAll("__", "-").replaceAll("\0", "_").toLowerCase();
    const own = found.get(namespace) ?? new Map<string, Buffer>();
    found.set(namespace, own.set(name, value));
  }
  return found;
}
