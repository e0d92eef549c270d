import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { processesOf } from "../leaks.ts";

const pageBytes = 4096;
const entryBytes = 8;
/** Pages that are looked up at once: gVisor reserves ranges of many gigabytes. */
const lookedUp = 64 * 1024;

/** Whether any process of a sandbox's boundary, its kernel on gVisor included, holds these bytes. Only pages that are there are read. */
export function memoryHolds(sandboxId: string, bytes: Buffer): boolean {
  const pids = processesOf(sandboxId);
  if (pids.length === 0) throw new Error(`no process of ${sandboxId} was found`);
  return pids.some((pid) => processHolds(pid, bytes));
}

function processHolds(pid: number, bytes: Buffer): boolean {
  let memory = -1;
  let pagemap = -1;
  try {
    const ranges = readFileSync(`/proc/${pid}/smaps`, "utf8").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
    memory = openSync(`/proc/${pid}/mem`, "r");
    pagemap = openSync(`/proc/${pid}/pagemap`, "r");
    return ranges.some((text) => {
      const [, from = "", to = ""] = /^([0-9a-f]+)-([0-9a-f]+) r/.exec(text) ?? [];
      if (from === "" || /^Rss: +0 kB/m.test(text)) return false;
      return rangeHolds(memory, pagemap, Number.parseInt(from, 16), Number.parseInt(to, 16), bytes);
    });
  } catch {
    return false; // it ended
  } finally {
    for (const fd of [memory, pagemap]) if (fd >= 0) closeSync(fd);
  }
}

function rangeHolds(memory: number, pagemap: number, from: number, to: number, bytes: Buffer): boolean {
  const entries = Buffer.alloc(lookedUp * entryBytes);
  const page = Buffer.alloc(pageBytes);
  let before = Buffer.alloc(0);
  for (let start = from; start < to; start += lookedUp * pageBytes) {
    const pages = Math.min(lookedUp, (to - start) / pageBytes);
    const known = read(pagemap, entries, pages * entryBytes, (start / pageBytes) * entryBytes) / entryBytes;
    for (let index = 0; index < known; index++) {
      const isThere = (entries.readUInt8(entryBytes * index + entryBytes - 1) & 0x80) !== 0;
      if (!isThere || read(memory, page, pageBytes, start + index * pageBytes) < pageBytes) before = Buffer.alloc(0);
      else {
        const seen = Buffer.concat([before, page]);
        if (seen.includes(bytes)) return true;
        before = seen.subarray(-bytes.length);
      }
    }
  }
  return false;
}

function read(fd: number, into: Buffer, length: number, position: number): number {
  try {
    return readSync(fd, into, 0, length, position);
  } catch {
    return 0; // not one that can be read
  }
}
