/** Which images of registries a sandbox has pulled by asking for them: those that an operator has named (S97). */
import { AppError } from "../core/errors.ts";
import { parseReference, showReference, showRepository } from "./reference.ts";

/** Anything that a reference could begin with: a host, or a host and a part of a repository's name. */
const placePattern = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?(\/[a-z0-9._-]+)*$/;

/** `docker.io`, `docker.io/library/python`, `ghcr.io/owner`, `registry.example.com:5000`. */
export function readPullPlace(text: string): string {
  const place = text.toLowerCase();
  if (placePattern.test(place) && /[.:]|^localhost$/.test(place.split("/")[0] ?? "")) return place;
  throw new AppError("invalid", `images.pull: ${JSON.stringify(text.slice(0, 200))} is not a registry or repository`, {
    hint: "docker.io, docker.io/library/python, ghcr.io/owner, registry.example.com:5000",
  });
}

/** Address of the image that a sandbox asks for by this name. Undefined for a name without tag and registry. */
export function findPullable(
  image: string,
  places: readonly string[],
): { place: string; reference: string; isAllowed: boolean } | undefined {
  if (!/[:/@]/.test(image) || /[A-Z]/.test(image)) return undefined; // names of images here have no capitals
  try {
    const parsed = parseReference(image);
    const place = showRepository(parsed);
    return {
      place,
      reference: showReference(parsed),
      isAllowed: places.some((one) => place === one || place.startsWith(`${one}/`)),
    };
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
