import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TarReader } from "./tar-reader.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar-writer.ts";

const part = fc
  .uint8Array({ minLength: 1, maxLength: 120 })
  .map((bytes) => Buffer.from(bytes).toString("latin1").replaceAll(/[\0/]/g, "x"))
  .filter((text) => text !== "." && text !== "..");
const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const member = fc.record({
  type: fc.constantFrom("file" as const, "directory" as const, "link" as const, "hard-link" as const),
  path,
  target: path,
  mode: fc.nat(0o777),
  mtimeNs: fc.bigInt({ min: -(10n ** 18n), max: 10n ** 20n }),
  body: fc.uint8Array({ maxLength: 2000 }),
});

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe("an archive of our own", () => {
  it("is read as it was written, in pieces of any size", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(member, { maxLength: 5 }), fc.integer({ min: 1, max: 3000 }), async (members, size) => {
        const parts = members.flatMap(({ type, body, target, ...rest }) => {
          const bytes = type === "file" ? Buffer.from(body) : Buffer.alloc(0);
          const linked = type === "link" || type === "hard-link" ? target : "";
          const header = tarHeader({ ...rest, type, target: linked, size: bytes.length });
          return [header, bytes, tarPadding(bytes.length)];
        });
        const reader = new TarReader(pieces(Buffer.concat([...parts, tarEnd]), size), { depth: 10, exact: true });
        for (const { type, path: name, mode, mtimeNs, body, target } of members) {
          const found = await reader.next();
          expect(found).toMatchObject({ type, path: name, mode, mtimeNs });
          if (type === "link" || type === "hard-link") expect(found?.target).toBe(target);
          const read: Buffer[] = [];
          for (let piece = await reader.read(); piece !== undefined; piece = await reader.read())
            read.push(Buffer.from(piece));
          if (type === "file") expect(Buffer.concat(read).equals(Buffer.from(body))).toBe(true);
        }
        expect(await reader.next()).toBeUndefined();
      }),
    );
  });
});
