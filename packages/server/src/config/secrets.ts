/** What the environment says that no dump of settings may show. It goes from here to the daemon, and nowhere else. */
import { secretPrefix, type Variables, vaultKeyVariable } from "./env.ts";

export interface GivenSecrets {
  /** The master keys of the vault, as they were written; null when none were given. */
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
