import { execFileSync } from "node:child_process";

interface SmallDisk extends Disposable {
  /** Nothing on it is lost by it: it takes any size that is not used. */
  resize(bytes: number): void;
}

/** A disk of its own for a folder, until it is disposed. Only root may mount one. */
export function mountDisk(folder: string, bytes: number): SmallDisk {
  execFileSync("/usr/bin/mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "none", folder]);
  return {
    resize: (size) => void execFileSync("/usr/bin/mount", ["-o", `remount,size=${size}`, folder]),
    [Symbol.dispose]: () => void execFileSync("/usr/bin/umount", ["--lazy", folder]),
  };
}
