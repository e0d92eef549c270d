import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { settingNames, specOf } from "./settings.ts";

const page = readFileSync(join(import.meta.dirname, "../../../../docs/configuration.md"), "utf8");
const rows = [...page.matchAll(/^\| `([^`]+)` \| `(CAISSON_[A-Z_]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)];

describe("docs/configuration.md", () => {
  it("lists every setting with its variable, default, range and help, and no other", () => {
    const told = rows.map(([, name, variable, usual, values, help]) => ({ name, variable, usual, values, help }));
    const known = settingNames.map((name) => {
      const spec = specOf(name);
      const usual = spec.type === "number" ? spec.range.default : spec.default;
      return {
        name,
        variable: spec.env,
        usual: (Array.isArray(usual) ? usual.join(", ") : String(usual ?? "")) || "none",
        values: spec.type === "number" ? `${spec.range.min} to ${spec.range.max}` : expect.any(String),
        help: spec.help,
      };
    });
    expect(told).toEqual(known);
  });
});
