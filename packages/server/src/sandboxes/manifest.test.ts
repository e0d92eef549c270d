import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Artifact, Manifest, Signer } from "../core/manifest.ts";
import { signManifest, verifyFile, verifyManifest } from "./manifest.ts";

function makeSigner(): Signer {
  const { privateKey } = generateKeyPairSync("ed25519");
  const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString();
  return { sign: (payload) => sign(null, payload, privateKey), publicKey };
}

const signer = makeSigner();
const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const file = (path: string): Artifact => ({ path, size_bytes: 0, sha256: empty });
const signed = signManifest("sandbox", [file("b"), file("a")], signer, 0);
const none = Buffer.alloc(0);

describe("a manifest", () => {
  it("[EXE-09] is verified with the key that signed it, however it was written down", () => {
    const { signature, files, ...rest } = signed;
    expect(verifyManifest(JSON.parse(JSON.stringify({ files, signature, ...rest })), signer.publicKey)).toEqual(signed);
    expect(signed.files.map(({ path }) => path)).toEqual(["a", "b"]);
    expect(verifyFile(signed, signer.publicKey, "a", none)).toEqual(file("a"));
  });

  it("[EXE-09] is refused with another key", () => {
    expect(() => verifyManifest(signed, makeSigner().publicKey)).toThrow(/not signed by this key/);
  });

  it.each<[string, (manifest: Manifest) => object]>([
    ["another sandbox", (manifest) => ({ ...manifest, sandbox_id: "other" })],
    ["another time", (manifest) => ({ ...manifest, signed_at: "2000-01-01T00:00:00.000Z" })],
    ["a file less", (manifest) => ({ ...manifest, files: manifest.files.slice(1) })],
    ["another name", (manifest) => ({ ...manifest, files: [file("a"), file("c")] })],
    ["another size", (manifest) => ({ ...manifest, files: [{ ...file("a"), size_bytes: 1 }, file("b")] })],
    ["another hash", (manifest) => ({ ...manifest, files: [{ ...file("a"), sha256: "0".repeat(64) }, file("b")] })],
    ["no signature", (manifest) => ({ ...manifest, signature: "" })],
  ])("[EXE-09] is refused with %s", (_what, change) => {
    expect(() => verifyManifest(change(signed), signer.publicKey)).toThrow(/not signed by this key/);
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["a text", "{}"],
    ["another version", { ...signed, version: 2 }],
    ["a path twice", { ...signed, files: [file("a"), file("a")] }],
    ["paths out of order", { ...signed, files: [file("b"), file("a")] }],
    ["a hash that is none", { ...signed, files: [{ ...file("a"), sha256: "xyz" }] }],
    ["no files", { ...signed, files: undefined }],
  ])("[EXE-09] is none: %s", (_what, value) => {
    expect(() => verifyManifest(value, signer.publicKey)).toThrow(/not a manifest/);
  });

  it("[EXE-09] tells a file that is not the one signed, and one that it does not list", () => {
    expect(() => verifyFile(signed, signer.publicKey, "a", Buffer.from("x"))).toThrow(/differs from the signed file/);
    expect(() => verifyFile(signed, signer.publicKey, "c", none)).toThrow(/does not list/);
  });

  it("takes only an Ed25519 public key", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    expect(() => verifyManifest(signed, publicKey.export({ type: "spki", format: "pem" }).toString())).toThrow(
      /Ed25519/,
    );
    expect(() => verifyManifest(signed, "no key")).toThrow(/not a public key/);
  });
});
