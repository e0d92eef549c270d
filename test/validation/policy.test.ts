import { afterAll, expect, it } from "vitest";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { checkPolicy } from "../../packages/server/src/validation/policy.ts";
import { CodeAndDataValidation } from "../../packages/server/src/validation/validation.ts";

const validation = new CodeAndDataValidation();
afterAll(() => validation[Symbol.asyncDispose]());

const check = async (code: string, policy: "advise" | "strict") =>
  checkPolicy(await validation.code({ language: "python", code, policy, autoFix: false }));

const refusal = async (code: string) => {
  const error = await check(code, "strict").then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof AppError ? error : undefined;
};

// biome-ignore format: a list of words
const dangerous = ["os", "sys", "subprocess", "socket", "ctypes", "importlib", "builtins", "shutil", "pickle", "left_pad"];

it.each(dangerous)("[VAL-02] strict policy refuses an import of %s", async (module) => {
  const error = await refusal(`import ${module}\n`);
  expect(error?.code).toBe("invalid");
  expect(error?.message).toContain("1:8 unapproved-import");
  expect(error?.details).toMatchObject({
    refused: "code",
    policy: "strict",
    findings: [{ rule: "unapproved-import" }],
  });
});

it.each(["exec('1')", "eval('1')", "().__class__", "x = (1"])("[VAL-02] strict policy refuses %s", async (code) => {
  expect((await refusal(code))?.code).toBe("invalid");
});

it.each(["math", "json", "numpy", "collections.abc"])(
  "[VAL-02] strict policy lets an import of %s run",
  async (module) => {
    expect(await refusal(`import ${module}\nprint(1)\n`)).toBeUndefined();
  },
);

it("[VAL-02] strict policy lets code with warnings run", async () => {
  expect(await refusal("print(answer)")).toBeUndefined();
});

it("[VAL-02] advice lets everything run", async () => {
  await check("import os\nexec('1')", "advise");
});
