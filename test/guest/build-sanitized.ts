import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Compiles the sanitized guest where its sources are newer; a few seconds. */
export default function build(): void {
  execFileSync("sh", [join(import.meta.dirname, "../../native/build.sh"), "sanitized"], { stdio: "inherit" });
}
