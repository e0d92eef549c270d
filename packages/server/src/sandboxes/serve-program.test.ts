import { expect, it } from "vitest";
import { toCommand } from "../core/command.ts";
import type { OutputChannel } from "../core/wire.ts";
import type { Sandbox } from "./sandbox.ts";
import { serveProgram } from "./serve-program.ts";

const MiB = 1024 ** 2;
const record = { exitCode: 3, signal: null, durationMs: 1, cpuMs: 1, maxRssBytes: 1 };

/** A sandbox whose program prints `text` and ends; what is masked waits for the end. */
function sandboxThatPrints(text: string): Sandbox {
  const held = { push: () => [], release: () => [], heldBytes: 1, receivedBytes: 1 };
  const fake = {
    ...{ environment: {}, folder: "/app", processSlack: 0, runsWatchMemory: false, warm: false, runLimits: {} },
    background: { allowed: true, mostMs: 1 },
    limits: { memoryBytes: MiB, cpus: 1, cpuShares: 1, processes: 64, storageBytes: MiB },
    redactor: { stream: () => ({ ...held, end: () => [Buffer.from(text)] }) },
    beginRun: async () => undefined,
    endRun: () => undefined,
    oomKilled: async () => false,
    wire: {
      open: (_kind: string, _spec: object, listen: (channel: OutputChannel, chunk: Buffer) => void) => {
        queueMicrotask(() => listen("stderr", Buffer.from(text)));
        return { started: Promise.resolve(), exit: Promise.resolve(record), consumed: () => undefined };
      },
    },
  };
  return fake as unknown as Sandbox;
}

it("[S124] the program of a hosted server ends with its reason also where its last output cannot be kept", async () => {
  const seen: string[] = [];
  const log = async (piece: Buffer) => {
    seen.push(piece.toString());
    throw new Error("no space left on device");
  };
  const command = toCommand({ what: { argv: ["server"] }, as: "run", cwd: "/app", stdin: "stream" });
  const { ended } = await serveProgram(sandboxThatPrints("last words"), command, {
    ...{ hasInput: false, logsStdout: false, log },
  });
  expect(await ended).toBe("exit code 3");
  expect(seen).toContain("last words");
});
