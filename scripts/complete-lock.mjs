// Adds to package-lock.json the platform packages that the registry at hand does not carry. npm leaves them out, and
// `npm ci` then refuses the lock everywhere. Run it after `npm install` changed the lock.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

const path = join(import.meta.dirname, "../package-lock.json");
const lock = JSON.parse(readFileSync(path, "utf8"));

/** Platform packages carry their platform in their name: binding-linux-arm64-musl. */
function platformOf(name) {
  const words = name.split(/[-/]/);
  const os = words.filter((word) => SYSTEMS.includes(word));
  const cpu = words.filter((word) => PROCESSORS.includes(word));
  const libc = [...(/musl/.test(name) ? ["musl"] : []), ...(/-gnu/.test(name) ? ["glibc"] : [])];
  return { ...(cpu.length && { cpu }), ...(libc.length && { libc }), ...(os.length && { os }) };
}

const isInstallable = (folder, name) => {
  for (let at = folder; ; at = at.slice(0, Math.max(at.lastIndexOf("/node_modules/"), 0))) {
    if (`${at && `${at}/`}node_modules/${name}` in lock.packages) return true;
    if (at === "") return false;
  }
};

for (const [folder, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isInstallable(folder, name)) continue;
    const exact = version.replace(/^[~^]/, "");
    lock.packages[`node_modules/${name}`] = {
      version: exact,
      ...(entry.dev && { dev: true }),
      optional: true,
      ...platformOf(name),
    };
    console.log(`added ${name}@${exact}`);
  }
}

const [top, ...rest] = Object.entries(lock.packages);
const byFolder = ([a], [b]) => a.localeCompare(b, "en");
lock.packages = Object.fromEntries([top, ...rest.sort(byFolder)]);
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
