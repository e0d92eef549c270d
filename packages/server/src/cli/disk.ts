import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { RunIo } from "./run.ts";
import { paint } from "./terminal.ts";

/** Prints why a run is waiting. A waiting run cannot react to an interrupt, so the sandbox is destroyed instead. */
export function watchDisk(sandbox: Sandbox, io: Pick<RunIo, "stderr" | "terminal">, signal: AbortSignal): void {
  let isLow = false;
  const end = () => {
    // The creator of the sandbox destroys it as well, and sees a failure.
    if (isLow && signal.aborted) sandbox.destroy().catch(() => undefined);
  };
  sandbox.events.subscribe(
    ({ type }) => {
      isLow = type === "disk.low";
      const name = paint(io.terminal, "yellow", "caisson:");
      if (isLow)
        io.stderr.write(`${name} the disk of the data folder is almost full: the sandbox waits until space is free\n`);
      end();
    },
    { types: ["disk.low", "disk.recovered"] },
  );
  signal.addEventListener("abort", end);
}
