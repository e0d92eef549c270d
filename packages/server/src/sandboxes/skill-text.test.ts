import { describe, expect, it } from "vitest";
import { parseSkillText } from "./skill-text.ts";

const matter = (...lines: string[]) => parseSkillText(["---", ...lines, "---", "# Text", ""].join("\n"));
const named = (...lines: string[]) => matter("name: a", "description: does it", ...lines);

describe("the front matter of a skill", () => {
  it("has a name and a description, and other fields are left alone", async () => {
    expect(await named("license: MIT", "allowed-tools: [one, {two: 3}]")).toEqual({
      name: "a",
      description: "does it",
      version: null,
    });
    expect(await matter("name: a", "description: >-", "  two", "  lines")).toMatchObject({ description: "two lines" });
  });

  it("has a version as it is written, at its top or below metadata", async () => {
    expect(await named("version: 1.10")).toMatchObject({ version: "1.10" });
    expect(await named('version: "2.0.0-rc.1+b3"')).toMatchObject({ version: "2.0.0-rc.1+b3" });
    expect(await named("metadata:", "  version: 3")).toMatchObject({ version: "3" });
  });

  it.each(["[1]", "{a: b}", "../1", "a/b", "a@b", "''", "", `${"1".repeat(65)}`])(
    "has no version %s",
    async (version) => {
      await expect(named(`version: ${version}`)).rejects.toThrow("its version must be");
    },
  );

  it.each([
    ["keys of keys, which take the parser minutes", `${"? ".repeat(5000)}x`, "keys that begin with '?'"],
    ["such keys in braces", "x: {? [a]: b}", "keys that begin with '?'"],
    ["lists of lists in brackets", `x: ${"[".repeat(9)}${"]".repeat(9)}`, "too deep"],
    ["lists of lists in dashes", `x:\n  ${"- ".repeat(9)}a`, "too deep"],
    ["thousands of fields", Array.from({ length: 1500 }, (_, at) => `k${at}: 1`).join("\n"), "too long"],
    ["anchors", "x: &a [1]", "anchors"],
    ["aliases", "x: *a", "aliases"],
    ["tags", "x: !!binary aa", "tags"],
    ["a name twice", "name: b", "not valid YAML"],
  ])("is refused with %s", async (_, line, says) => {
    await expect(named(line)).rejects.toThrow(says);
  });
});
