import type { ImageInfo } from "@caisson/sdk";
import { visible } from "../terminal.ts";
import { LiveLine } from "./live-line.ts";
import type { VerbCall } from "./verb.ts";

/** Prints the steps of a build, and with `verbose` their output; on a terminal, the last line of output beside the step. */
export async function followImage({ caisson, io }: VerbCall, image: ImageInfo, verbose: boolean): Promise<number> {
  using live = new LiveLine(io);
  const isLive = live.isOn && !verbose;
  const line = (text: string) => {
    if (isLive) live.show(text);
    else io.stderr.write(`${visible(text)}\n`);
  };
  let step = "";
  for await (const message of caisson.images.log(image.id)) {
    if (message.type === "step") {
      step = `[${message.at}/${message.of}] ${message.step}`;
      line(step);
    } else if (message.type === "log") {
      if (verbose) io.stderr.write(`${visible(message.data.replace(/\n$/, ""))}\n`);
      else if (isLive && message.data.trim() !== "") line(`${step}  ${message.data.trim()}`);
    } else {
      live[Symbol.dispose]();
      if (message.state === "ready") return 0;
      io.stderr.write(`caisson: cannot build image ${image.name}\n`);
      for (const text of (message.error ?? "").split("\n")) io.stderr.write(`${visible(text)}\n`);
      return 1;
    }
  }
  return 1;
}
