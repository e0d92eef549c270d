/** Secrets from the environment, which are not settings, so that no dump of settings shows them. Only the daemon gets them. */
import { secretPrefix, type Variables, vaultKeyVariable } from "./env.ts";

export interface GivenSecrets {
  /** Master keys of the vault, unparsed; null if not set. */
  vaultKeys: string | null;
  /** The variables `CAISSON_SECRET_…`. */
  variables: Readonly<Record<string, string>>;
}

export function givenSecrets(variables: Variables): GivenSecrets {
  const own = Object.entries(variables).flatMap(([name, value]) =>
    name.startsWith(secretPrefix) && value !== undefined && value !== "" ? [[name, value] as const] : [],
  );
  return { vaultKeys: variables[vaultKeyVariable] || null, variables: Object.fromEntries(own) };
}
