import { AppError } from "../../core/errors.ts";
import type { SecretSource } from "../../core/secret.ts";

/** Keys of what the engine seals, in the vault. */
export type Keys = Pick<SecretSource, "newKey" | "readKey" | "dropKey" | "keyNames">;

/** First word of the names of checkpoints' keys, and of templates'. */
export const checkpointKeys = "checkpoint ";
export const templateKeys = "template ";

const noVault = async () => {
  throw new AppError("unsupported", "no vault is configured to store a key");
};

export const noKeys: Keys = { newKey: noVault, readKey: noVault, dropKey: noVault, keyNames: async () => [] };
