import { describe, expect, it } from "vitest";
import { buildLimits } from "./limits.ts";
import { readSpec } from "./read-spec.ts";

describe("the specification of an image", () => {
  it("is a few lines of YAML; what it does not say is nothing", async () => {
    const text =
      "name: mine\ndebian: [jq, python3=3.11.2-1+b1]\npip: ['requests[socks]>=2,<3', six==1.16.0]\nnpm: ['@a/b@^1', c]\n";
    expect(await readSpec(text)).toEqual({
      ...{ name: "mine", description: "", aliases: [], files: {}, env: {}, run: [] },
      debian: ["jq", "python3=3.11.2-1+b1"],
      pip: ["requests[socks]>=2,<3", "six==1.16.0"],
      npm: ["@a/b@^1", "c"],
    });
  });

  it.each<[string, string, number, string]>([
    ["not valid YAML", "name: [a", 1, ""],
    ["is a list", "- a\n", 1, "expected object"],
    ["has no name", "debian: [jq]\n", 1, "name"],
    ["has an unknown key", "name: a\ndebian: []\nentry: x\n", 3, 'no key "entry"; there are name, description'],
    ["has a key twice", "name: a\nname: b\n", 2, "unique"],
    ["has an alias", "name: a\ndebian: &x [jq]\npip: *x\n", 3, "aliases are not taken"],
    [
      "has an option for a package",
      "name: a\ndebian:\n  - jq\n  - --allow-downgrades\n",
      4,
      "debian.1: this is no name of a package",
    ],
    ["has a path for a package", "name: a\npip:\n  - ./setup.py\n", 3, "pip.0"],
    ["has a URL for a package", "name: a\npip: ['x @ https://a.example/x.whl']\n", 2, "pip.0"],
    ["has a package of npm by its repository", "name: a\nnpm: ['git+ssh://x']\n", 2, "npm.0"],
    ["takes the machine's own name", "name: host\n", 1, "this name is taken"],
    ["has an alias that is taken", "name: a\naliases: [catalogue]\n", 2, "aliases.0: this name is taken"],
    ["has a file outside the tree", "name: a\nfiles:\n  /etc/../../x: y\n", 3, "none of dots alone"],
    ["has a file that sandboxes have of their own", "name: a\nfiles:\n  /proc/x: y\n", 3, "a file lies below"],
    ["has a variable without a name", "name: a\nenv:\n  'A=B': c\n", 3, "no name of a variable"],
    ["has a number for a line", "name: a\nrun:\n  - 7\n", 3, "run.0"],
  ])("is refused with its line when it %s", async (_what, text, line, message) => {
    const refusal = await readSpec(text).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "invalid", details: { line } });
    expect(String(refusal)).toContain(message);
  });

  it.each([
    ["keys of keys, which take the parser minutes", `name: a\n${"? ".repeat(5_000)}x`, "keys that begin with '?'"],
    ["lists of lists", `name: a\nrun: ${"[".repeat(5_000)}`, "too deep"],
  ])("is refused with %s, before it is parsed", async (_what, text, says) => {
    await expect(readSpec(text)).rejects.toThrow(says);
  });

  it("is refused when it is large, and when it names too much", async () => {
    await expect(readSpec(`name: a\n#${"x".repeat(buildLimits.specBytes)}`)).rejects.toMatchObject({
      code: "too_large",
    });
    const many = Array.from({ length: buildLimits.packages + 1 }, (_, at) => `p${at}0`);
    await expect(readSpec(`name: a\ndebian: [${many.join(", ")}]\n`)).rejects.toThrow("debian");
  });
});
