import { createHash } from "node:crypto";
import { AppError } from "../core/errors.ts";
import type { FileInfo, SandboxFiles } from "../core/file.ts";
import type { Artifact, ArtifactContent, Manifest } from "../core/manifest.ts";
import { artifactLimits } from "./limits.ts";
import { signManifest } from "./manifest.ts";
import type { Sandbox } from "./sandbox.ts";
import type { SandboxChronicle } from "./sandbox-parts.ts";

const folder = "/workspace/output";

/** Regular files below /workspace/output; none where code has removed the folder. */
export async function listOutput(files: Pick<SandboxFiles, "list">): Promise<FileInfo[]> {
  try {
    const found = await files.list(folder, { recursive: true });
    return found.filter(({ type }) => type === "file");
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return [];
    throw error;
  }
}

/** What a sandbox left in /workspace/output: regular files, links not followed. */
export class Artifacts {
  readonly #sandbox: Pick<Sandbox, "id" | "files" | "limits">;
  readonly #chronicle: SandboxChronicle;

  constructor(sandbox: Pick<Sandbox, "id" | "files" | "limits">, chronicle: SandboxChronicle) {
    this.#sandbox = sandbox;
    this.#chronicle = chronicle;
  }

  async list(): Promise<Artifact[]> {
    const files = await listOutput(this.#sandbox.files);
    if (files.length > artifactLimits.files)
      throw new AppError("limit_exceeded", `too many files in /workspace/output (limit: ${artifactLimits.files})`);
    // Two names that are not text can read the same, and neither leads back to its file.
    const odd = files.find((info) => info.name.includes("\ufffd"));
    if (odd !== undefined)
      throw new AppError("invalid", `a file name in /workspace/output is not valid text: ${odd.name}`);
    const artifacts: Artifact[] = [];
    // A sparse file is larger than what it takes.
    let left = this.#sandbox.limits.storageBytes;
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
      throw new AppError("invalid", `'${path}' is not the path of an artifact`);
    const chunks: Buffer[] = [];
    const artifact = await this.#hash(path, artifactLimits.contentBytes, (chunk) => chunks.push(Buffer.from(chunk)));
    return { ...artifact, content_base64: Buffer.concat(chunks).toString("base64") };
  }

  /** A signed manifest of all of them. What is signed is what was read here, whatever the sandbox does meanwhile. */
  async sign(): Promise<Manifest> {
    const signer = await this.#chronicle.signer();
    const manifest = signManifest(this.#sandbox.id, await this.list(), signer, Date.now());
    this.#chronicle.signed(this.#sandbox.id, manifest.files.length);
    return manifest;
  }

  async #hash(path: string, mostBytes: number, take?: (chunk: Buffer) => void): Promise<Artifact> {
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of this.#sandbox.files.read(`${folder}/${path}`)) {
      size += chunk.length;
      if (size > mostBytes) throw new AppError("too_large", `the artifact '${path}' is larger than ${mostBytes} bytes`);
      hash.update(chunk);
      take?.(chunk);
    }
    return { path, size_bytes: size, sha256: hash.digest("hex") };
  }
}
