import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sandboxLimits } from "../core/limits.ts";
import { topFolders } from "../core/top-folders.ts";
import { streamKinds } from "../core/wire.ts";
import { frameTypes } from "./frame.ts";
import { wireLimits } from "./limits.ts";
import { flags, tags, warmFlags } from "./spec.ts";

const header = readFileSync(join(import.meta.dirname, "../../../../native/guest/guest.h"), "utf8");

/** The numbers of one enum of guest.h, by its name, or of the one that holds `first`. */
function numbersOf(start: string): Record<string, number> {
  const body = header.slice(header.indexOf(start)).match(/\{([^}]*)\}/)?.[1] ?? "";
  const numbers: Record<string, number> = {};
  let next = 0;
  for (const item of body.replaceAll(/\/\*.*?\*\//gs, "").split(",")) {
    const [name = "", value] = item.split("=").map((part) => part.trim());
    if (name === "") continue;
    if (value !== undefined) next = value in numbers ? (numbers[value] ?? 0) : evaluate(value);
    numbers[name] = next++;
  }
  return numbers;
}

function evaluate(product: string): number {
  return product.split("*").reduce((total, factor) => total * Number(factor), 1);
}

/** `maxRssBytes` as `PREFIX_MAX_RSS_BYTES`. */
function native(prefix: string, name: string): string {
  return `${prefix}_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

describe("numbers that the guest and the host share", () => {
  it.each([
    ["enum frame_type", "FRAME", frameTypes],
    ["enum stream_kind", "KIND", streamKinds],
    ["enum spec_tag", "TAG", tags],
    ["enum spec_flag", "FLAG", { ...flags, warmPython: warmFlags.python, warmNode: warmFlags.node }],
  ] as const)("are the same in %s", (start, prefix, ours) => {
    const theirs = numbersOf(start);
    delete theirs.KIND_LAST;
    expect(Object.fromEntries(Object.entries(ours).map(([name, number]) => [native(prefix, name), number]))).toEqual(
      theirs,
    );
  });

  it("are joined by the folders that files are reached in", () => {
    const walk = readFileSync(join(import.meta.dirname, "../../../../native/guest/walk.c"), "utf8");
    const [, folders = ""] = /top_folders\[\] = \{(.*?)\}/.exec(walk) ?? [];
    expect(folders.split(", ").map((name) => JSON.parse(name))).toEqual([...topFolders]);
  });

  it("are the same among the limits", () => {
    expect(numbersOf("/* Limits:")).toMatchObject({
      WIRE_VERSION: wireLimits.version,
      HEADER_BYTES: wireLimits.headerBytes,
      FROM_HOST_FRAME_BYTES: wireLimits.toGuestFrameBytes,
      TO_HOST_PAYLOAD_BYTES: wireLimits.fromGuestPayloadBytes,
      OUTPUT_RING_BYTES: wireLimits.outputWindowBytes,
      INPUT_WINDOW_BYTES: wireLimits.inputWindowBytes,
      TUNNEL_WINDOW_BYTES: wireLimits.tunnelWindowBytes,
      SMALL_RING_BYTES: wireLimits.smallRingBytes,
      RINGS_TOTAL_BYTES: wireLimits.tunnelsBytes,
      SPEC_BYTES: wireLimits.specBytes,
      ARGUMENTS_MAX: sandboxLimits.arguments,
      PATH_BYTES: sandboxLimits.pathBytes,
    });
  });
});
