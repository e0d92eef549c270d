import type { Descriptor } from "./documents.ts";
import { refuseImage } from "./refuse-image.ts";

/** Nothing of an image is believed before this. */
export function checkMatches(
  { digest, size }: Pick<Descriptor, "digest" | "size">,
  found: { digest: string; bytes: number },
): void {
  if (found.bytes !== size) throw refuseImage(`${digest} has ${found.bytes} bytes, not ${size}`);
  if (found.digest !== digest) throw refuseImage(`what should be ${digest} is ${found.digest}`);
}
