import { isUtf8 } from "node:buffer";
import { refuseImage } from "./refuse-image.ts";

/** A name as a refusal shows it. */
export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 200));
}

/** Of bytes, one to a character. */
export function checkUtf8(text: string): void {
  // Most names are ASCII, which is seen without a copy.
  if (!/^[\x00-\x7f]*$/.test(text) && !isUtf8(Buffer.from(text, "latin1")))
    throw refuseImage(`${quoted(text)} is no name in UTF-8`);
}

/** A copy: a part of a string would keep the whole of it. */
export function ownText(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}
