import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { RunIo } from "./run.ts";
import { paint } from "./terminal.ts";

/** Says why a run stands still. One that is told to end then cannot hear it, and ends with its sandbox. */
export function watchDisk(sandbox: Sandbox, io: Pick<RunIo, "stderr" | "terminal">, signal: AbortSignal): void {
  let isLow = false;
  const end = () => {
    // Who made the sandbox destroys it too, and is told of a failure.
    if (isLow && signal.aborted) sandbox.destroy().catch(() => undefined);
  };
  sandbox.events.subscribe(
    ({ type }) => {
      isLow = type === "disk.low";
      const name = paint(io.terminal, "yellow", "caisson:");
      if (isLow) io.stderr.write(`${name} the disk under the data folder is nearly full: the sandbox waits for room\n`);
      end();
    },
    { types: ["disk.low", "disk.recovered"] },
  );
  signal.addEventListener("abort", end);
}
