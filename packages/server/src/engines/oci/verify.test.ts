import { describe, expect, it } from "vitest";
import { containments } from "../../core/engine.ts";
import { summarise } from "./verify.ts";

describe("what a sandbox is told to have", () => {
  it("[SBX-14] leaves out what failed, with the reason, and what nobody looked at", () => {
    const { enforced, notEnforced } = summarise(
      new Map([
        ["memory", null],
        ["storage", "mkfs.ext4 is not installed"],
      ]),
    );
    expect(enforced).toEqual(["memory"]);
    expect(notEnforced).toContainEqual({ what: "storage", why: "mkfs.ext4 is not installed" });
    expect(notEnforced).toContainEqual({ what: "seccomp", why: "it was not applied" });
    expect(notEnforced.length).toBe(containments.length - 1);
  });
});
