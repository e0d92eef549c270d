import { describe, expect, it } from "vitest";
import { dependencyFile, planBuild, type SourceFacts } from "./build-plan.ts";
import { asNodePackage, asPythonProject } from "./read-facts.ts";

function facts(files: readonly string[], { python, node }: { python?: object; node?: object } = {}): SourceFacts {
  return {
    files: new Set(files),
    python: python === undefined ? null : asPythonProject(python),
    node: node === undefined ? null : asNodePackage(node),
  };
}

describe("the plan of a build", () => {
  it.each<[string, SourceFacts, object]>([
    [
      "requirements.txt and server.py",
      facts(["requirements.txt", "server.py", "main.py"]),
      { pip: ["-r", "requirements.txt"], npm: null, command: ["python", "server.py"] },
    ],
    ["main.py", facts(["requirements.txt", "main.py"]), { command: ["python", "main.py"] }],
    ["__main__.py", facts(["requirements.txt", "__main__.py"]), { command: ["python", "."] }],
    [
      "a project with scripts",
      facts([], { python: { name: "my_server", scripts: ["other", "my-server"] } }),
      { pip: ["."], command: ["my-server"] },
    ],
    [
      "a project with scripts beside requirements.txt",
      facts(["requirements.txt"], { python: { name: "a", scripts: ["run-it"] } }),
      { pip: ["-r", "requirements.txt", "."], command: ["run-it"] },
    ],
    [
      "a project with dependencies and server.py",
      facts(["server.py"], { python: { name: "a", dependencies: ["mcp"], scripts: ["a"] } }),
      { pip: ["-r", dependencyFile], command: ["python", "server.py"] },
    ],
    [
      "a project without dependencies",
      facts(["server.py"], { python: { name: "a" } }),
      { pip: null, command: ["python", "server.py"] },
    ],
    [
      "package.json with one bin",
      facts([], { node: { name: "@a/b", bin: "./dist/cli.js" } }),
      { pip: null, npm: "install", command: ["node", "dist/cli.js"] },
    ],
    [
      "package.json with several",
      facts([], { node: { name: "@a/b", bin: { x: "x.js", b: "b.js" }, main: "m.js" } }),
      { command: ["node", "b.js"] },
    ],
    [
      "package.json with main and a lock",
      facts(["package-lock.json"], { node: { name: "a", main: "./m.js" } }),
      { npm: "ci", command: ["node", "m.js"] },
    ],
    ["package.json and index.js", facts(["index.js"], { node: {} }), { npm: "install", command: ["node", "index.js"] }],
    [
      "both languages",
      facts(["requirements.txt", "server.py"], { node: { name: "a", main: "m.js" } }),
      { pip: ["-r", "requirements.txt"], npm: "install", command: ["python", "server.py"] },
    ],
  ])("[HOS-01] finds what to install and what starts it: %s", (_, given, expected) => {
    expect(planBuild(given, null)).toMatchObject(expected);
  });

  it("[HOS-01] takes a command as it is, and installs the project that it is a script of", () => {
    expect(planBuild(facts(["requirements.txt"]), ["python", "-m", "x"]).command).toEqual(["python", "-m", "x"]);
    const python = { name: "a", dependencies: ["mcp"], scripts: ["a"] };
    expect(planBuild(facts(["server.py"], { python }), ["a", "--port", "1"])).toMatchObject({
      pip: ["."],
      command: ["a", "--port", "1"],
    });
  });

  it("[S114] takes no path out of the source, and nothing else that a manifest says", () => {
    for (const main of ["/bin/sh", "../../x", "a/../../x", "", 7, ["x"], "x\n"])
      expect(() => planBuild(facts([], { node: { name: "a", main } }), null)).toThrow(/no entry point/);
    const wide = {
      name: "a",
      main: "m.js",
      scripts: { start: "x" },
      user: "root",
      mounts: ["/"],
      env: { A: "b" },
      mcp: {},
    };
    expect(planBuild(facts([], { node: wide }), null)).toEqual({
      pip: null,
      npm: "install",
      command: ["node", "m.js"],
    });
  });

  it("reads hostile metadata as nothing", () => {
    for (const value of [
      null,
      7,
      "x",
      [],
      { bin: null, dependencies: 7 },
      { bin: { a: 7, __proto__: "x" }, scripts: [{}, "a\0"] },
    ]) {
      expect(asNodePackage(value)).toEqual({ name: "", bin: {}, main: null });
      expect(asPythonProject(value)).toEqual({ name: "", dependencies: [], scripts: [] });
    }
    expect(asPythonProject({ dependencies: ["a\n-e /etc", "b"] }).dependencies).toEqual(["b"]);
  });
});
