import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rewrap, seal, unseal } from "./envelope.ts";
import { newMasterKey } from "./master-key.ts";

const place = { namespace: "default", name: "API_KEY", version: 1 };
const value = Buffer.from("correct horse battery staple");

describe("an envelope", () => {
  it("gives back what was sealed, any bytes, and holds none of them", () => {
    const master = newMasterKey();
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 6, maxLength: 2_000 }), (bytes) => {
        const sealed = seal(master, place, Buffer.from(bytes));
        expect(unseal(master, place, sealed).equals(Buffer.from(bytes))).toBe(true);
        expect(Buffer.from(sealed.sealed, "base64").includes(Buffer.from(bytes))).toBe(false);
      }),
    );
  });

  it("has a data key and nonces of its own: the same value never looks the same twice", () => {
    const master = newMasterKey();
    const [one, two] = [seal(master, place, value), seal(master, place, value)];
    expect(one.sealed).not.toBe(two.sealed);
    expect(one.wrappedKey).not.toBe(two.wrappedKey);
  });

  it.each([
    ["another namespace", { ...place, namespace: "other" }],
    ["another name", { ...place, name: "OTHER" }],
    ["another version", { ...place, version: 2 }],
  ])("[SEC-01] cannot be opened as the secret of %s", (_, elsewhere) => {
    const master = newMasterKey();
    const sealed = seal(master, place, value);
    expect(() => unseal(master, elsewhere, sealed)).toThrow("cannot decrypt");
    expect(() => rewrap(master, newMasterKey(), elsewhere, sealed.wrappedKey)).toThrow("cannot decrypt");
    expect(unseal(master, place, sealed).equals(value)).toBe(true);
  });

  it("cannot be opened by another master key, nor after any bit of it was changed", () => {
    const master = newMasterKey();
    const sealed = seal(master, place, value);
    expect(() => unseal(newMasterKey(), place, sealed)).toThrow("cannot decrypt");
    for (const field of ["wrappedKey", "sealed"] as const) {
      const bytes = Buffer.from(sealed[field], "base64");
      for (let at = 0; at < bytes.length; at++) {
        const changed = Buffer.from(bytes);
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
        expect(() => unseal(master, place, { ...sealed, [field]: changed.toString("base64") })).toThrow("changed");
      }
    }
  });

  it("is wrapped anew without its value being touched", () => {
    const [from, to] = [newMasterKey(), newMasterKey()];
    const sealed = seal(from, place, value);
    const wrapped = { ...sealed, ...rewrap(from, to, place, sealed.wrappedKey) };
    expect(wrapped.sealed).toBe(sealed.sealed);
    expect(unseal(to, place, wrapped).equals(value)).toBe(true);
    expect(() => unseal(from, place, wrapped)).toThrow("cannot decrypt");
  });
});
