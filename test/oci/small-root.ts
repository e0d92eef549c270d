import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { folder, hardLink, link, type MadeEntry } from "./made-image.ts";

/** A root with a shell and a few programs of this machine, as the lowest layer of an image. */
export function smallRoot(shells: readonly string[] = ["bash", "sh"]): MadeEntry[] {
  const programs = [...shells, "cat", "id", "ls", "readlink", "stat"].map((name) => `/usr/bin/${name}`);
  const said = execFileSync("ldd", programs, { encoding: "utf8" });
  const libraries = [...new Set([...said.matchAll(/(\/\S+\.so\S*)/g)].map(([, path = ""]) => path))];
  const file = (path: string, from: string): MadeEntry => ({
    type: "file",
    path,
    mode: 0o755,
    text: readFileSync(from).toString("latin1"),
    encoding: "latin1",
  });
  return [
    ...["usr/bin", "usr/lib", "usr/lib64", "etc", "tmp", "opt"].map((path) => folder(path)),
    ...["bin", "lib", "lib64"].map((name) => link(name, `usr/${name}`)),
    ...programs.map((path) => file(path.slice(1), path)),
    ...libraries.map((path) => file(`usr/${path.includes("ld-linux") ? "lib64" : "lib"}/${basename(path)}`, path)),
    hardLink("usr/bin/cat-again", "usr/bin/cat"),
  ];
}
