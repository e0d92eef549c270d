import { StringDecoder } from "node:string_decoder";
import type { StepProgress } from "../core/build-script.ts";
import { serverBuildLimits } from "./build-limits.ts";

/** Passes output on in whole characters, up to a limit. */
export function boundedLog(
  log: (text: string) => void | Promise<void>,
  most: number = serverBuildLimits.logBytes,
): StepProgress["log"] {
  const decoder = new StringDecoder("utf8");
  let room = most;
  return {
    write: async (chunk) => {
      if (room < 0) return;
      const bytes = Buffer.from(chunk);
      const text = decoder.write(bytes.subarray(0, room));
      room -= bytes.length;
      await log(room < 0 ? `${text}\n… what follows is left out\n` : text);
    },
  };
}
