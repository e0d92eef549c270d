/** A repository of apt on loopback, with a few small packages made of this machine's own programs. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readFile, realpath, stat, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { AptSources } from "../../packages/server/src/core/apt.ts";

const run = promisify(execFile);

interface Made {
  name: string;
  fields?: Readonly<Record<string, string>>;
  /** Texts by path; programs are what begins with `#!`. */
  files?: Readonly<Record<string, string>>;
  /** Programs of this machine, with the libraries that they need. */
  programs?: readonly string[];
  postinst?: string;
}

/** What steps use that run in the image itself, and tests. */
const programs = [
  "bash",
  "cat",
  "chmod",
  "cp",
  "find",
  "id",
  "ln",
  "ls",
  "mkdir",
  "mkfifo",
  "mv",
  "rm",
  "sed",
  "sleep",
  "sort",
];

const packages: Made[] = [
  { name: "base", fields: { Essential: "yes" }, programs },
  { name: "ca-certificates" },
  {
    name: "tool",
    fields: { Depends: "library" },
    files: { "usr/bin/tool.real": "#!/bin/bash\ncat /usr/share/library/text\n", "etc/tool.conf": "as packed\n" },
    postinst:
      "#!/bin/sh\ntouch /usr/share/script-ran\nupdate-alternatives --quiet \\\n  --install /usr/bin/tool tool \\\n  /usr/bin/tool.real 10\n",
  },
  { name: "python3", fields: { Version: "3.12.1" }, files: { "usr/bin/python3": "#!/bin/bash\necho Python 3.12.1\n" } },
  { name: "library", files: { "usr/share/library/text": "from the library\n", "usr/share/man/man1/x.1": "manual" } },
];

/** Where a merged /usr has it. */
const merged = (path: string) => path.replace(/^\/(bin|sbin|lib|lib64)\//, "/usr/$1/");

async function filesOf(program: string): Promise<[string, string][]> {
  const path = await realpath(`/usr/bin/${program}`);
  const { stdout } = await run("ldd", [path]);
  const libraries = [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, library = ""]) => library);
  return [[`/usr/bin/${program}`, path], ...libraries.map((library): [string, string] => [merged(library), library])];
}

async function makePackage(folder: string, made: Made): Promise<string> {
  const tree = join(folder, `${made.name}.tree`);
  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), text);
    await chmod(join(tree, path), text.startsWith("#!") ? 0o755 : 0o644);
  };
  await mkdir(tree, { recursive: true });
  await chmod(tree, 0o755);
  for (const [path, source] of (await Promise.all((made.programs ?? []).map(filesOf))).flat()) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await copyFile(source, join(tree, path));
  }
  for (const [path, text] of Object.entries(made.files ?? {})) await put(path, text);
  await put(`usr/share/doc/${made.name}/copyright`, "anybody's\n");
  const { stdout: architecture } = await run("dpkg", ["--print-architecture"]);
  const fields = {
    Package: made.name,
    Version: "1.0",
    Architecture: architecture.trim(),
    Maintainer: "a test <a@b.example>",
  };
  const all = { ...fields, Description: made.name, ...made.fields };
  await put(
    "DEBIAN/control",
    Object.entries(all)
      .map(([name, value]) => `${name}: ${value}\n`)
      .join(""),
  );
  if (made.postinst !== undefined) await put("DEBIAN/postinst", made.postinst);
  const deb = join(folder, `${made.name}_1.0.deb`);
  await run("dpkg-deb", ["-Znone", "--root-owner-group", "--build", tree, deb]);
  return deb;
}

const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");

export interface Repository {
  answer: RequestListener;
  /** For apt in a sandbox that reaches it by this name. */
  sources(host: string, port: number): AptSources;
}

export async function makeRepository(folder: string): Promise<Repository> {
  const rows: string[] = [];
  for (const deb of await Promise.all(packages.map((one) => makePackage(folder, one)))) {
    const { stdout } = await run("dpkg-deb", ["--field", deb]);
    const name = deb.slice(folder.length + 1);
    rows.push(
      `${stdout.trim()}\nFilename: ./${name}\nSize: ${(await stat(deb)).size}\nSHA256: ${sha256(await readFile(deb))}\n`,
    );
  }
  const index = `${rows.join("\n")}\n`;
  const texts: Record<string, string> = {
    "/Packages": index,
    "/Release": `Origin: test\nSHA256:\n ${sha256(index)} ${index.length} Packages\n`,
  };
  return {
    answer: (request, response) => {
      const path = `/${(request.url ?? "").replace(/^\/(\.\/)*/, "")}`;
      const text = texts[path];
      if (text !== undefined) return void response.end(text);
      readFile(join(folder, path.replaceAll("..", ""))).then(
        (bytes) => response.end(bytes),
        () => response.writeHead(404).end(),
      );
    },
    sources: (host, port) => {
      const text = `Types: deb\nURIs: http://${host}:${port}/\nSuites: ./\nTrusted: yes\n`;
      const files = [{ path: "sources.list.d/host.sources", base64: Buffer.from(text).toString("base64") }];
      return { files, hosts: [{ host, port, protocol: "http" }], left: [], problem: null };
    },
  };
}
