import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comparePaths, type TreeEntry } from "../core/tree.ts";
import { decodeTree, TreeEncoder } from "./tree-codec.ts";

const digest = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const bytes = fc.uint8Array({ minLength: 1, maxLength: 20 }).map((all) => Buffer.from(all).toString("latin1"));
const common = { path: bytes, mode: fc.nat(0o777), mtimeNs: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }) };
const none = { size: fc.constant(0), sha256: fc.constant(""), chunks: fc.constant([]), target: fc.constant("") };
const entry: fc.Arbitrary<TreeEntry> = fc.oneof(
  fc.record({ ...common, ...none, type: fc.constantFrom("directory" as const, "unreadable" as const) }),
  fc.record({ ...common, ...none, type: fc.constantFrom("link" as const, "hard-link" as const), target: bytes }),
  fc
    .record({ ...common, size: fc.nat({ max: 2 ** 50 }), chunks: fc.array(digest, { maxLength: 4 }), sha256: digest })
    .map((file) => ({
      ...file,
      type: "file" as const,
      target: "",
      sha256:
        file.chunks.length > 1
          ? file.sha256
          : (file.chunks[0] ?? "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    })),
);

describe("a tree as bytes", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        const encoder = new TreeEncoder();
        for (const one of entries) encoder.add(one);
        const encoded = encoder.finish();
        expect(encoder.bytes).toBe(encoded.length);
        expect([...decodeTree(encoded)]).toEqual(entries);
      }),
    );
  });

  it("that makes no sense is refused, and nothing else happens", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        try {
          for (const _ of decodeTree(Buffer.from(noise)));
        } catch (error) {
          expect(error).toMatchObject({ code: "internal" });
        }
      }),
    );
  });
});

describe("the order of paths", () => {
  it("puts a folder right before what is in it, whatever its neighbours are called", () => {
    const paths = ["a", "a/b", "a/b/c", "a/z", "a b", "a!", "a.b", "b", "\xff"];
    expect(paths.toReversed().sort(comparePaths)).toEqual(paths);
  });

  it("is one", () => {
    fc.assert(
      fc.property(bytes, bytes, bytes, (a, b, c) => {
        expect(Math.sign(comparePaths(a, b))).toBe(-Math.sign(comparePaths(b, a)) + 0);
        expect(comparePaths(a, a)).toBe(0);
        if (comparePaths(a, b) <= 0 && comparePaths(b, c) <= 0) expect(comparePaths(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });
});
