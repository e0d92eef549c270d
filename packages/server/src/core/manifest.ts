/** A file that a run left in its output folder. */
export interface Artifact {
  /** Relative to /workspace/output. */
  path: string;
  size_bytes: number;
  sha256: string;
}

export interface ArtifactContent extends Artifact {
  content_base64: string;
}

/** Says of files, under a signature, that they came out of a sandbox as they are. */
export interface Manifest {
  version: 1;
  sandbox_id: string;
  /** ISO 8601. */
  signed_at: string;
  /** In the order of their paths, each path once. */
  files: Artifact[];
  /** Ed25519 over the rest, in base64. */
  signature: string;
}

export interface Signer {
  sign(payload: Uint8Array): Buffer;
  /** SPKI in PEM: what a verifier must know beforehand, and never takes from a manifest. */
  readonly publicKey: string;
}
