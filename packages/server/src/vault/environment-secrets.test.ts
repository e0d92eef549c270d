import { describe, expect, it } from "vitest";
import { environmentSecrets } from "./environment-secrets.ts";

const found = (variable: string) =>
  [...environmentSecrets({ [variable]: "0123456789" })].flatMap(([namespace, own]) =>
    [...own.keys()].map((name) => [namespace, name]),
  );

describe("[SEC-05] secrets of the environment", () => {
  it.each([
    ["CAISSON_SECRET_DEFAULT_API_KEY", "default", "API_KEY"],
    ["CAISSON_SECRET_A_B_C", "a", "B_C"],
    ["CAISSON_SECRET_A__B_C", "a-b", "C"],
    ["CAISSON_SECRET_A___B_C", "a_b", "C"],
    ["CAISSON_SECRET_9_key__x", "9", "key__x"],
  ])("%s is in namespace %s under the name %s, and in no other", (variable, namespace, name) => {
    expect(found(variable)).toEqual([[namespace, name]]);
  });

  it.each(["CAISSON_SECRET_", "CAISSON_SECRET_A", "CAISSON_SECRET_A__B", "CAISSON_SECRET_a_B", "CAISSON_SECRET_A_1"])(
    "%s is refused, without its value",
    (variable) => {
      expect(() => found(variable)).toThrow(variable);
      expect(() => found(variable)).not.toThrow("0123456789");
    },
  );

  it("are refused when redaction could not find them", () => {
    expect(() => environmentSecrets({ CAISSON_SECRET_A_B: "12345" })).toThrow("minimum: 6 bytes");
    expect(environmentSecrets({ CAISSON_SECRET_A_B: "123456" }).get("a")?.get("B")?.toString()).toBe("123456");
  });
});
