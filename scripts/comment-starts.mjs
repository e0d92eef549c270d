// Fails when a file has more doc comments that begin with a word like "What" or "Of" than scripts/comment-starts.txt
// records: a doc comment starts with a verb or a noun phrase. A new file may have none. A moved file takes its number
// along. `node scripts/comment-starts.mjs --record` lowers recorded numbers, and never raises one.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const words = "Of|What|Whether|Who|Whoever|Whose|Where|That";
const starts = {
  ts: new RegExp(`/\\*\\*\\s*(?:\\*\\s*)?(?:${words})\\b`, "g"),
  c: new RegExp(`/\\*+\\s*(?:\\*\\s*)?(?:${words})\\b`, "g"),
  py: new RegExp(`"""\\s*(?:${words})\\b`, "g"),
};
const kinds = { ".ts": "ts", ".mts": "ts", ".mjs": "ts", ".js": "ts", ".c": "c", ".h": "c", ".py": "py" };

/** Number of doc comments in a text of this kind that begin with one of the words. */
function countStarts(kind, text) {
  return text.match(starts[kind])?.length ?? 0;
}

/** Numbers by path; files without such comments are left out. */
function countFolder(folder) {
  const found = new Map();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!["node_modules", "dist", "corpus"].includes(entry.name))
        for (const row of countFolder(path)) found.set(...row);
    } else if (entry.isFile()) {
      const kind = kinds[/\.\w+$/.exec(entry.name)?.[0] ?? ""];
      const count = kind === undefined ? 0 : countStarts(kind, readFileSync(path, "utf8"));
      if (count > 0) found.set(path, count);
    }
  }
  return found;
}

/** The number that each file may have: its recorded one, or that of a file of the same name which is gone. */
function allowedFor(found, recorded, exists) {
  const left = [...recorded].filter(([path]) => !found.has(path) && !exists(path));
  const allowed = new Map();
  for (const path of found.keys()) {
    const at = recorded.has(path) ? -1 : left.findIndex(([old]) => basename(old) === basename(path));
    allowed.set(path, recorded.get(path) ?? (at < 0 ? 0 : left.splice(at, 1)[0][1]));
  }
  return allowed;
}

/** One line a folder: `packages/sdk/src: errors.ts 1, run.ts 2`. */
function readRecord(text) {
  const rows = text.split("\n").filter((line) => line !== "");
  return new Map(
    rows.flatMap((line) => {
      const [folder, files] = line.split(": ");
      return files.split(", ").map((file) => [join(folder, file.split(" ")[0]), Number(file.split(" ")[1])]);
    }),
  );
}

function writeRecord(counts) {
  const folders = Map.groupBy(counts, ([path]) => dirname(path));
  const lines = [...folders].map(([folder, files]) => {
    const listed = files.map(([path, count]) => `${basename(path)} ${count}`).sort();
    return `${folder}: ${listed.join(", ")}\n`;
  });
  return lines.sort().join("");
}

function main() {
  const record = "scripts/comment-starts.txt";
  const folders = ["bench", "examples", "native", "packages", "scripts", "test"].filter(existsSync);
  const found = new Map(folders.flatMap((folder) => [...countFolder(folder)]));
  const allowed = allowedFor(found, readRecord(readFileSync(record, "utf8")), existsSync);
  const over = [...found].filter(([path, count]) => count > allowed.get(path));
  for (const [path, count] of over)
    console.error(`${path}: ${count} doc comments begin with one of ${words}; allowed: ${allowed.get(path)}`);
  if (process.argv.includes("--record")) {
    const lowered = [...found].map(([path, count]) => [path, Math.min(count, allowed.get(path))]);
    writeFileSync(record, writeRecord(lowered.filter(([, count]) => count > 0)));
  }
  process.exitCode = over.length > 0 ? 1 : 0;
}

main();
