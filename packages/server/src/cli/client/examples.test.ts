import { describe, expect, it } from "vitest";
import { examples } from "./examples.ts";
import { parseVerb, verbHelpText } from "./verb.ts";
import { clientVerbs, findVerb } from "./verbs.ts";

const lines = Object.entries(examples).flatMap(([name, all]) => all.map((line) => ({ name, line })));
const wordsOf = (line: string) =>
  [...line.replace(/ {2,}#.*$/, "").matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");

describe("examples in the help of commands", () => {
  it.each(lines)("[CLI-01] are what the command takes: $line", ({ name, line }) => {
    const [program, ...words] = wordsOf(line);
    const found = findVerb(words);
    expect([program, found?.name]).toEqual(["caisson", name]);
    expect(parseVerb(name, found?.verb as never, found?.rest ?? [])).toBeDefined();
    expect(verbHelpText(name, clientVerbs[name] as never)).toContain(line);
  });

  it("[CLI-01] are there for every command about images, templates, copies, skills and room on the disk", () => {
    const ours = Object.keys(clientVerbs).filter((name) => /^(image|template|checkpoint|fork|skill|gc)\b/.test(name));
    expect(ours.filter((name) => examples[name] === undefined)).toEqual([]);
  });

  it("[CLI-01] a list and a removal are found by their other usual names", () => {
    for (const [asked, name] of [
      ["checkpoint ls", "checkpoint list"],
      ["image list", "image ls"],
      ["template delete", "template rm"],
      ["vault delete", "vault rm"],
      ["keys revoke", "keys rm"],
      ["env unset", "env rm"],
      ["session kill", "session rm"],
      ["webhook remove", "webhook rm"],
      ["egress destroy", "egress rm"],
      ["egress add", "egress"],
    ] as const)
      expect(findVerb([...asked.split(" "), "x"])).toMatchObject({ name, rest: ["x"] });
    for (const word of ["destroy", "delete", "remove"]) expect(findVerb([word, "x"])).toMatchObject({ name: "rm" });
    expect(findVerb(["kill", "x"])).toMatchObject({ name: "kill" });
    expect(findVerb(["webhook", "fly"])).toBeUndefined();
  });
});
