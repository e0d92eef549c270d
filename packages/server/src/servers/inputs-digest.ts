import { createHash } from "node:crypto";
import type { ChosenImage } from "../core/image-record.ts";
import type { Registries } from "../core/package.ts";

/** Counts changes of what a build does with the same inputs. */
const builderVersion = 1;

export interface BuildInputs {
  /** SHA-256 of the archive, or of the package's name and version. */
  sourceDigest: string;
  image: ChosenImage;
  registries: Registries;
  command: readonly string[] | null;
}

/** SHA-256 of all that a build is made of: the same inputs in one namespace are built once. */
export function inputsDigest({ sourceDigest, image, registries, command }: BuildInputs): string {
  const sources = (["pip", "npm"] as const).map((manager) => {
    const { variables, hosts, certificates } = registries[manager];
    return [Object.entries(variables).sort(), hosts, certificates];
  });
  const inputs = [builderVersion, sourceDigest, image.layerId, sources, command];
  return createHash("sha256").update(JSON.stringify(inputs)).digest("hex");
}
