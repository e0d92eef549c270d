import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { AppError } from "../core/errors.ts";
import type { Artifact, Manifest, Signer } from "../core/manifest.ts";
import { artifactLimits } from "./limits.ts";

/** No other signature by the same key can be taken for one of a manifest. */
const domain = "caisson manifest 1\n";

type Unsigned = Omit<Manifest, "signature">;

/** The signed bytes: the fields in one fixed order and form, however the manifest was written down. */
function payloadOf({ version, sandbox_id, signed_at, files }: Unsigned): Buffer {
  const rows = files.map(({ path, size_bytes, sha256 }) => [path, size_bytes, sha256]);
  return Buffer.from(domain + JSON.stringify([version, sandbox_id, signed_at, rows]));
}

export function signManifest(
  sandboxId: string,
  artifacts: readonly Artifact[],
  signer: Signer,
  nowMs: number,
): Manifest {
  const files = [...artifacts].sort((left, right) => (left.path < right.path ? -1 : 1));
  const unsigned: Unsigned = { version: 1, sandbox_id: sandboxId, signed_at: new Date(nowMs).toISOString(), files };
  return { ...unsigned, signature: signer.sign(payloadOf(unsigned)).toString("base64") };
}

function isArtifact(value: unknown): value is Artifact {
  if (typeof value !== "object" || value === null) return false;
  const { path, size_bytes, sha256 } = value as Record<string, unknown>;
  return (
    typeof path === "string" &&
    Number.isSafeInteger(size_bytes) &&
    typeof sha256 === "string" &&
    /^[0-9a-f]{64}$/.test(sha256)
  );
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== "object" || value === null) return false;
  const { version, sandbox_id, signed_at, files, signature } = value as Record<string, unknown>;
  if (version !== 1 || typeof sandbox_id !== "string" || typeof signed_at !== "string") return false;
  if (typeof signature !== "string" || !Array.isArray(files) || files.length > artifactLimits.files) return false;
  // Paths that rise strictly are in order, and none of them stands twice.
  return files.every(isArtifact) && files.slice(1).every((file, at) => (files[at]?.path ?? "") < file.path);
}

function readKey(publicKey: string): KeyObject {
  try {
    const key = createPublicKey(publicKey);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch (cause) {
    throw new AppError("invalid", "not a public key in PEM", { cause });
  }
  throw new AppError("invalid", "not an Ed25519 key");
}

/** The manifest, if it is one and the key has signed it. The key must come from elsewhere than the manifest. */
export function verifyManifest(manifest: unknown, publicKey: string): Manifest {
  const key = readKey(publicKey);
  if (!isManifest(manifest)) throw new AppError("invalid", "not a manifest");
  const signature = Buffer.from(manifest.signature, "base64");
  if (!verify(null, payloadOf(manifest), key, signature))
    throw new AppError("forbidden", "the manifest is not signed by this key");
  return manifest;
}

/** Whether a file is byte for byte what a signed manifest says of its path. */
export function verifyFile(manifest: unknown, publicKey: string, path: string, content: Uint8Array): Artifact {
  const artifact = verifyManifest(manifest, publicKey).files.find((file) => file.path === path);
  if (artifact === undefined) throw new AppError("not_found", `the manifest does not list '${path}'`);
  const sha256 = createHash("sha256").update(content).digest("hex");
  if (content.length !== artifact.size_bytes || sha256 !== artifact.sha256)
    throw new AppError("conflict", `'${path}' differs from the signed file`);
  return artifact;
}
