import { ownPrograms } from "../core/image.ts";
import type { ImageConfig } from "../core/image-record.ts";
import type { SandboxParts } from "./sandbox-parts.ts";

/** PATH in an image that says nothing of it. */
export const usualSearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** What runs find: the image's word counts, but for who runs, where home is, and the way out. */
export function surroundings(
  searchPath: string,
  image: ImageConfig | undefined,
  wayOut: Readonly<Record<string, string>>,
): Pick<SandboxParts, "environment" | "folder"> {
  const path = `${ownPrograms}:${image?.searchPath ?? searchPath}`;
  const own = { PATH: path, HOME: "/home/user", USER: "user", TERM: "dumb" };
  return {
    environment: { LANG: "C.UTF-8", ...image?.env, ...own, ...wayOut },
    folder: image?.workdir ?? "/workspace",
  };
}
