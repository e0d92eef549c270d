/**
 * Whether interpreters of an image may wait for code: they do so as root of the sandbox (S20), so they are of packages that were
 * installed here, never of a stranger's tree, and nothing that runs could write tells them what to load.
 */
import type { ImageRecord } from "../core/image-record.ts";

/** What an interpreter or its loader reads as it starts. */
const readAtStart = /^(PYTHON|NODE_|LD_|GLIBC_|MALLOC_|GCONV_PATH$|LOCPATH$|NLSPATH$|OPENSSL_)/;
/** Of those, lists of folders. */
const folders = /^(NODE_PATH|PYTHONPATH|LD_LIBRARY_PATH)$/;
/** Where user code writes. */
const writable = /^\/(workspace|home|tmp|run|dev|proc|var\/tmp|root)(\/|$)/;

export function mayWait({ source, config }: Pick<ImageRecord, "source" | "config">): boolean {
  if (source === "oci") return false;
  const variables = Object.entries(config.env).filter(([name]) => readAtStart.test(name));
  return (
    variables.every(([name, value]) => folders.test(name) && isReadOnly(value)) &&
    isReadOnly(config.searchPath ?? "/bin")
  );
}

function isReadOnly(list: string): boolean {
  return list
    .split(":")
    .every(
      (folder) => /^\/[^/.]/.test(folder) && !/(^|\/)\.{0,2}(\/|$)/.test(folder.slice(1)) && !writable.test(folder),
    );
}
