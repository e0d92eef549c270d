import { gzipSync } from "node:zlib";
import { archive, type Entry, end, entry, padded, pax } from "./tar-bytes.ts";

const good: Entry = { name: "good.txt", body: "good" };
const folder: Entry = { name: "d/", type: "5", mode: 0o755 };

function base256(...bytes: number[]): Buffer {
  return Buffer.concat([Buffer.alloc(12 - bytes.length, bytes[0]), Buffer.from(bytes)]);
}

export interface HostileArchive {
  what: string;
  bytes: Buffer;
  /** What the refusal says. */
  says: RegExp;
  limits?: { entries?: number; bytes?: number; depth?: number; ratio?: number };
}

/** Each begins as a good archive does: refusing it must take back what was already unpacked. */
export const hostileArchives: HostileArchive[] = [
  { what: "an absolute name", bytes: archive(good, { name: "/etc/cron.d/x", body: "x" }), says: /absolute/ },
  { what: "a name of the workspace", bytes: archive(good, { name: "/workspace/x" }), says: /absolute/ },
  { what: "`..` at the start", bytes: archive(good, { name: "../x", body: "x" }), says: /leads out/ },
  { what: "`..` in the middle", bytes: archive(good, folder, { name: "d/../../x" }), says: /leads out/ },
  { what: "`..` that stays inside", bytes: archive(good, folder, { name: "d/../x" }), says: /leads out/ },
  { what: "`..` in the prefix", bytes: archive(good, { name: "x", prefix: ".." }), says: /leads out/ },
  { what: "`..` in a pax path", bytes: archive(good, pax({ path: "../x" }), good), says: /leads out/ },
  { what: "a pax absolute path", bytes: archive(good, pax({ path: "/x" }), good), says: /absolute/ },
  {
    what: "`..` in a GNU long name",
    bytes: archive(good, entry({ name: "././@LongLink", type: "L", body: "../x\0" }), good),
    says: /leads out/,
  },
  { what: "an absolute link", bytes: archive(good, { name: "l", type: "2", target: "/etc/passwd" }), says: /out of/ },
  { what: "a link up and out", bytes: archive(good, { name: "l", type: "2", target: "../x" }), says: /out of/ },
  {
    what: "a link deep down that leads out",
    bytes: archive(good, { name: "a/b/l", type: "2", target: "../../../x" }),
    says: /out of/,
  },
  {
    what: "a link out through another link",
    bytes: archive({ name: "a/b/up", type: "2", target: "../.." }, { name: "l", type: "2", target: "a/b/up/.." }),
    says: /out of/,
  },
  {
    what: "a pax link out",
    bytes: archive(good, pax({ linkpath: "../../etc" }), { name: "l", type: "2" }),
    says: /out of/,
  },
  { what: "an empty link", bytes: archive(good, { name: "l", type: "2" }), says: /out of/ },
  {
    what: "a hard link to a host file",
    bytes: archive(good, { name: "l", type: "1", target: "/etc/passwd" }),
    says: /absolute/,
  },
  { what: "a hard link up", bytes: archive(good, { name: "l", type: "1", target: "../kept" }), says: /leads out/ },
  { what: "a hard link to nothing", bytes: archive(good, { name: "l", type: "1", target: "no" }), says: /no earlier/ },
  {
    what: "a hard link to a link",
    bytes: archive(good, { name: "s", type: "2", target: "good.txt" }, { name: "l", type: "1", target: "s" }),
    says: /no earlier/,
  },
  {
    what: "a hard link to a folder",
    bytes: archive(folder, { name: "l", type: "1", target: "d" }),
    says: /no earlier/,
  },
  {
    what: "a file through a link",
    bytes: archive(folder, { name: "l", type: "2", target: "d" }, { name: "l/x", body: "x" }),
    says: /through a link/,
  },
  {
    what: "a file over a link",
    bytes: archive({ name: "l", type: "2", target: "good.txt" }, { name: "l", body: "x" }),
    says: /twice/,
  },
  { what: "a file twice", bytes: archive(good, good), says: /twice/ },
  { what: "a file, then a folder", bytes: archive(good, { name: "good.txt", type: "5" }), says: /twice/ },
  { what: "a file under a file", bytes: archive(good, { name: "good.txt/x" }), says: /through/ },
  { what: "a character device", bytes: archive(good, { name: "null", type: "3" }), says: /device/ },
  { what: "a block device", bytes: archive(good, { name: "sda", type: "4" }), says: /device/ },
  { what: "a FIFO", bytes: archive(good, { name: "pipe", type: "6" }), says: /FIFO/ },
  { what: "an unknown kind", bytes: archive(good, { name: "x", type: "Z" }), says: /unknown kind/ },
  { what: "a GNU sparse file", bytes: archive(good, { name: "x", type: "S" }), says: /unknown kind/ },
  { what: "a pax sparse file", bytes: archive(good, pax({ "GNU.sparse.size": "9" }), good), says: /sparse/ },
  { what: "a set-uid file", bytes: archive(good, { name: "x", mode: 0o4755 }), says: /set-uid/ },
  { what: "a set-gid file", bytes: archive(good, { name: "x", mode: 0o2755 }), says: /set-gid/ },
  { what: "a set-gid folder", bytes: archive(good, { name: "x/", type: "5", mode: 0o2755 }), says: /set-gid/ },
  { what: "a wrong checksum", bytes: archive(good, { name: "x", checksum: 1 }), says: /checksum/ },
  { what: "bytes that are no archive", bytes: Buffer.alloc(2048, "no tar "), says: /no tar archive/ },
  { what: "nothing at all", bytes: Buffer.alloc(0), says: /cut short/ },
  { what: "an end in a header", bytes: entry(good).subarray(0, 300), says: /cut short/ },
  { what: "an end in a file", bytes: entry({ ...good, body: "x".repeat(2000) }).subarray(0, 1500), says: /cut short/ },
  { what: "no end mark", bytes: entry(good), says: /cut short/ },
  { what: "half an end mark", bytes: Buffer.concat([entry(good), end.subarray(512)]), says: /cut short/ },
  { what: "something after its end", bytes: Buffer.concat([archive(good), entry(good)]), says: /follows its end/ },
  { what: "something after half its end", bytes: archive(good, end.subarray(512), good), says: /follows its end/ },
  { what: "zeros without end", bytes: archive(good, Buffer.alloc(5 * 1024 ** 2)), says: /no end/ },
  { what: "a size that lies", bytes: archive({ ...good, size: 1_000_000 }), says: /cut short/ },
  { what: "a negative size", bytes: archive({ ...good, size: base256(0xff) }), says: /no number/ },
  {
    what: "a size past 63 bits",
    bytes: archive({ ...good, size: base256(0x80, ...Array(11).fill(0xff)) }),
    says: /no number/,
  },
  {
    what: "a size of 2^63 - 1",
    bytes: archive({ ...good, size: base256(0x80, 0, 0, 0, 0x7f, ...Array(7).fill(0xff)) }),
    says: /more than .* bytes/,
  },
  { what: "a size that is text", bytes: archive({ ...good, size: Buffer.from("zzzzzzzzzzz\0") }), says: /no number/ },
  { what: "a pax size that overflows", bytes: archive(pax({ size: "9".repeat(20) }), good), says: /no valid size/ },
  { what: "a pax size that is negative", bytes: archive(pax({ size: "-1" }), good), says: /no valid size/ },
  { what: "a pax time that is none", bytes: archive(pax({ mtime: "soon" }), good), says: /no valid time/ },
  { what: "a link with bytes", bytes: archive({ name: "l", type: "2", target: "x", body: "x" }), says: /has bytes/ },
  { what: "a folder with bytes", bytes: archive({ name: "d/", type: "5", body: "x" }), says: /has bytes/ },
  { what: "a file named as a folder", bytes: archive({ name: "d/", body: "x" }), says: /named as a folder/ },
  { what: "a file without a name", bytes: archive(good, { name: "", body: "x" }), says: /no name/ },
  { what: "a NUL in a pax path", bytes: archive(pax({ path: "a\0b" }), good), says: /name that is none/ },
  {
    what: "a damaged pax header",
    bytes: archive({ name: "x", type: "x", body: "99 path=x\n" }, good),
    says: /damaged/,
  },
  {
    what: "a pax header without `=`",
    bytes: archive({ name: "x", type: "x", body: "8 pathx\n" }, good),
    says: /damaged/,
  },
  { what: "a pax header without an entry", bytes: archive(pax({ path: "x" })), says: /no entry/ },
  { what: "a global name", bytes: archive(pax({ path: "x" }, "g"), good), says: /names every/ },
  { what: "a huge pax header", bytes: archive(pax({ comment: "x".repeat(70_000) }), good), says: /past 65536/ },
  { what: "pax headers without end", bytes: archive(...Array(10).fill(pax({ a: "b" })), good), says: /too many/ },
  { what: "a part past 255 bytes", bytes: archive(pax({ path: "x".repeat(256) }), good), says: /past 255/ },
  { what: "a path past 4096 bytes", bytes: archive(pax({ path: "x/".repeat(2100) }), good), says: /none|deeper/ },
  {
    what: "folders too deep",
    bytes: archive(pax({ path: "x/".repeat(101) }), { name: "x", type: "5" }),
    says: /deeper than 100/,
    limits: { depth: 100 },
  },
  {
    what: "too many entries",
    bytes: archive(...Array.from({ length: 11 }, (_, i) => ({ name: `f${i}` }))),
    says: /more than 10 entries/,
    limits: { entries: 10 },
  },
  {
    what: "too many bytes in all",
    bytes: archive({ name: "a", body: "x".repeat(600) }, { name: "b", body: "x".repeat(600) }),
    says: /more than 1000 bytes/,
    limits: { bytes: 1000 },
  },
  {
    what: "a gzip bomb",
    bytes: gzipSync(archive({ name: "zeros", body: Buffer.alloc(32 * 1024 ** 2) })),
    says: /more than 100 times/,
  },
  { what: "a gzip that is cut short", bytes: gzipSync(archive(good)).subarray(0, -12), says: /gzip is damaged/ },
  {
    what: "a gzip that is damaged",
    bytes: ((bytes) => bytes.fill(0xaa, 20, 30))(gzipSync(archive(good))),
    says: /gzip is damaged/,
  },
  { what: "a gzip of no archive", bytes: gzipSync(padded(Buffer.from("text"))), says: /no tar archive/ },
];
