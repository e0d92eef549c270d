import { createHash } from "node:crypto";
import { AppError } from "../core/errors.ts";
import type { SandboxFiles } from "../core/file.ts";
import { artifactLimits } from "../core/limits.ts";
import type { Artifact, ArtifactContent, Manifest, Signer } from "../core/manifest.ts";
import { signManifest } from "./manifest.ts";

const folder = "/workspace/output";

export interface ArtifactParts {
  sandboxId: string;
  files: SandboxFiles;
  /** What all of them together may hold: a sparse file is larger than what it takes. */
  mostBytes: number;
  signer: () => Promise<Signer>;
  signed: (files: number) => void;
}

/** What a sandbox left in /workspace/output: regular files, links not followed. */
export class Artifacts {
  readonly #parts: ArtifactParts;

  constructor(parts: ArtifactParts) {
    this.#parts = parts;
  }

  async list(): Promise<Artifact[]> {
    const found = await this.#parts.files.list(folder, { recursive: true });
    const files = found.filter((info) => info.type === "file");
    if (files.length > artifactLimits.files)
      throw new AppError("limit_exceeded", `more than ${artifactLimits.files} files of output`);
    // Two names that are not text can read the same, and neither leads back to its file.
    const odd = files.find((info) => info.name.includes("\ufffd"));
    if (odd !== undefined) throw new AppError("invalid", `the output has a file whose name is not text: ${odd.name}`);
    const artifacts: Artifact[] = [];
    let left = this.#parts.mostBytes;
    for (const { name } of files.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const artifact = await this.#hash(name, left);
      left -= artifact.size_bytes;
      artifacts.push(artifact);
    }
    return artifacts;
  }

  /** One of them with its content. */
  async read(path: string): Promise<ArtifactContent> {
    if (path.split("/").some((part) => part === "" || part === "." || part === ".."))
      throw new AppError("invalid", `'${path}' is not a path of an artifact`);
    const chunks: Buffer[] = [];
    const artifact = await this.#hash(path, artifactLimits.contentBytes, (chunk) => chunks.push(Buffer.from(chunk)));
    return { ...artifact, content_base64: Buffer.concat(chunks).toString("base64") };
  }

  /** A signed manifest of all of them. What is signed is what was read here, whatever the sandbox does meanwhile. */
  async sign(): Promise<Manifest> {
    const signer = await this.#parts.signer();
    const manifest = signManifest(this.#parts.sandboxId, await this.list(), signer, Date.now());
    this.#parts.signed(manifest.files.length);
    return manifest;
  }

  async #hash(path: string, mostBytes: number, take?: (chunk: Buffer) => void): Promise<Artifact> {
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of this.#parts.files.read(`${folder}/${path}`)) {
      size += chunk.length;
      if (size > mostBytes) throw new AppError("too_large", `the output '${path}' is past ${mostBytes} bytes`);
      hash.update(chunk);
      take?.(chunk);
    }
    return { path, size_bytes: size, sha256: hash.digest("hex") };
  }
}
