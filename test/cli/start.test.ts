import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { root } from "../harness.ts";

const told =
  'process.on("exit", () => console.log(process.moduleLoadList.filter((name) => /undici/.test(name)).length));';

it("a start loads nothing of Node's fetch, which takes a good part of a short command's time", async () => {
  const bundle = join(root, ".build/app/caisson.mjs");
  const hook = `data:text/javascript,${encodeURIComponent(told)}`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", hook, bundle, "--version"]);
  expect(stdout.trim().split("\n").at(-1)).toBe("0");
});
