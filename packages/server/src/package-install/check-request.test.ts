import { describe, expect, it } from "vitest";
import type { PackageManager } from "../core/package.ts";
import { checkRequest } from "./check-request.ts";

const check = (manager: PackageManager, name: string, mustPin = false) =>
  checkRequest({ manager, packages: [name] }, mustPin);

describe("a package to install", () => {
  it.each([
    ["pip", ["numpy", "zope.interface", "a[b,c]==1.0", "x>=1,<2", "x ~= 1.4.2", "x==1!2.0+local.1", "x!=1.*"]],
    ["npm", ["left", "@scope/name", "a@1.2.3", "a@^1.2.0", "@s/n@latest", "a@>=1 <2", "a@1.x"]],
  ] as const)("of %s is a name with or without versions", (manager, names) => {
    for (const name of names) expect(() => check(manager, name)).not.toThrow();
  });

  it.each([
    [
      "pip",
      ["", "-r", "--index-url=x", "./a", "/a", "a/b", "git+https://h.example/a", "a @ file:///x", "a;b", "a\nb", "a #"],
    ],
    [
      "npm",
      [
        "",
        "-g",
        "--registry=x",
        "./a",
        "/a",
        "a/b",
        "a@npm:b",
        "a@file:b",
        "a@https://h.example/a",
        "a:b",
        "a@-x",
        "@a",
      ],
    ],
  ] as const)("of %s is no option, path, URL or repository", (manager, names) => {
    for (const name of names) expect(() => check(manager, name), name).toThrow("is not a");
  });

  it("[EXE-10] has one version where policy says so", () => {
    for (const name of ["a==1.2", "a[b]==1.0.post1", "a===1"]) expect(() => check("pip", name, true)).not.toThrow();
    for (const name of ["a", "a>=1", "a==1.*", "a==1,>0", "a~=1.0"])
      expect(() => check("pip", name, true), name).toThrow("policy");
    for (const name of ["a@1.2.3", "@s/a@1.2.3-rc.1"]) expect(() => check("npm", name, true)).not.toThrow();
    for (const name of ["a", "a@1", "a@^1.2.3", "a@latest", "@s/a", "a@1.2.3 || 2.0.0"])
      expect(() => check("npm", name, true), name).toThrow("policy");
  });

  it("or a lockfile in the workspace, and not both", () => {
    const lock = (manager: PackageManager, lockfile: string, packages: string[] = []) =>
      checkRequest({ manager, packages, lockfile }, true);
    expect(() => lock("pip", "requirements.txt")).not.toThrow();
    expect(() => lock("npm", "web/package-lock.json")).not.toThrow();
    expect(() => lock("npm", "web/package.json")).toThrow("package-lock.json");
    expect(() => lock("pip", "../x")).toThrow("not a path");
    expect(() => lock("pip", "requirements.txt", ["a==1"])).toThrow("exclude each other");
    expect(() => checkRequest({ manager: "pip", packages: [] }, false)).toThrow("missing packages");
  });
});
