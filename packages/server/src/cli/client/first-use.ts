import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "@caisson/sdk";
import { followImage } from "./follow-image.ts";
import type { VerbCall } from "./verb.ts";

/** A call that takes longer may be waiting for an image. */
const noticeMs = 1_000;

/** Shows the progress of the image that a call waits for, and retries the call while the image is being built. */
export async function withImage<T>(call: VerbCall, image: string | undefined, act: () => Promise<T>): Promise<T> {
  let shown: Promise<unknown> | undefined;
  for (;;) {
    const work = act();
    const settled = work.then(
      () => true,
      () => true,
    );
    if (image !== undefined && !(await Promise.race([settled, sleep(noticeMs, false)]))) shown ??= show(call, image);
    try {
      const done = await work;
      await Promise.race([shown, sleep(noticeMs)]); // the last step leaves the screen
      return done;
    } catch (error) {
      if (!isUnderWay(error)) throw error;
    }
  }
}

/** Ignores errors: the call itself reports them. */
async function show(call: VerbCall, image: string): Promise<void> {
  const found = await call.caisson.images.get(image).catch(() => undefined);
  if (found?.state === "building") await followImage(call, found, false).catch(() => undefined);
}

function isUnderWay(error: unknown): boolean {
  return error instanceof ApiError && error.status === 503 && "image" in error.details && "step" in error.details;
}
