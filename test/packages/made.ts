/** Packages and registries that a test makes by itself. */
import { createHash } from "node:crypto";
import type { RequestListener } from "node:http";
import { crc32, gzipSync } from "node:zlib";
import { archive } from "../sandbox/tar-bytes.ts";

const hex = (algorithm: string, bytes: Uint8Array) => createHash(algorithm).update(bytes).digest("hex");

/** A zip archive that compresses nothing. */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const [path, body] = [Buffer.from(name), Buffer.from(text)];
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(0x21, 8); // a day: 1980-01-01
    fields.writeUInt32LE(crc32(body), 10);
    fields.writeUInt32LE(body.length, 14);
    fields.writeUInt32LE(body.length, 18);
    fields.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), fields, path, body]);
    const more = Buffer.alloc(14);
    more.writeUInt32LE((0o100644 << 16) >>> 0, 6);
    more.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), fields, more, path]));
    parts.push(local);
    offset += local.length;
  }
  const folder = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(central.length, 8);
  end.writeUInt16LE(central.length, 10);
  end.writeUInt32LE(folder.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, folder, end]);
}

/** A wheel of one module, whose `told()` says which version it is. */
export function wheel(name: string, version: string): Buffer {
  const info = `${name}-${version}.dist-info`;
  const files: Record<string, string> = {
    [`${name}.py`]: `def told():\n    return "${name} ${version}"\n`,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
  };
  const paths = [...Object.keys(files), `${info}/RECORD`];
  return zip({ ...files, [`${info}/RECORD`]: paths.map((path) => `${path},,\n`).join("") });
}

/** A source archive that is its own build system, and runs this code as it is installed. */
export function sourceArchive(name: string, version: string, code: string, built: Buffer): Buffer {
  const top = `${name}-${version}`;
  const file = `${name}-${version}-py3-none-any.whl`;
  const backend = `import base64, os
def build_wheel(folder, *_):
    with open(os.path.join(folder, "${file}"), "wb") as out:
        out.write(base64.b64decode("${built.toString("base64")}"))
${code.replace(/^/gm, "    ")}
    return "${file}"
`;
  const files: Record<string, string> = {
    "PKG-INFO": `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    "backend.py": backend,
  };
  return gzipSync(archive(...Object.entries(files).map(([path, body]) => ({ name: `${top}/${path}`, body }))));
}

interface NodePackage {
  name: string;
  version: string;
  scripts?: Readonly<Record<string, string>>;
  files: Readonly<Record<string, string>>;
}

export function nodeArchive({ name, version, scripts = {}, files }: NodePackage): Buffer {
  const all = { "package.json": JSON.stringify({ name, version, scripts, main: "index.js" }), ...files };
  return gzipSync(archive(...Object.entries(all).map(([path, body]) => ({ name: `package/${path}`, body }))));
}

/** Files of an index as pip reads it: `/simple/NAME/`, and the files beside. */
export function pipIndex(files: Readonly<Record<string, Buffer>>): RequestListener {
  return (request, response) => {
    const [, place, name = ""] = (request.url ?? "").split("/");
    const names = Object.keys(files).filter((file) => file.startsWith(`${name}-`));
    if (place === "files" && files[name] !== undefined) response.end(files[name]);
    else if (place === "simple" && names.length > 0)
      response
        .setHeader("content-type", "text/html")
        .end(names.map((file) => `<a href="/files/${file}#sha256=${sha256(file)}">${file}</a>`).join("\n"));
    else response.writeHead(404).end();
  };
  function sha256(file: string): string {
    return hex("sha256", files[file] ?? Buffer.alloc(0));
  }
}

/** A registry as npm reads it. */
export function npmRegistryOf(packages: readonly NodePackage[], base: () => string): RequestListener {
  return (request, response) => {
    const url = decodeURIComponent(request.url ?? "").slice(1);
    const file = packages.find(({ name }) => url === `files/${name}.tgz`);
    const found = packages.filter(({ name }) => name === url);
    if (file !== undefined) return void response.end(nodeArchive(file));
    if (found.length === 0) return void response.writeHead(404).end("{}");
    const versions = found.map((one) => {
      const { name, version, scripts = {} } = one;
      const integrity = `sha512-${createHash("sha512").update(nodeArchive(one)).digest("base64")}`;
      const dist = { tarball: `${base()}/files/${name}.tgz`, integrity };
      return [version, { name, version, scripts, hasInstallScript: Object.keys(scripts).length > 0, dist }] as const;
    });
    const tags = { latest: versions.at(-1)?.[0] };
    response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ name: url, "dist-tags": tags, versions: Object.fromEntries(versions) }));
  };
}
