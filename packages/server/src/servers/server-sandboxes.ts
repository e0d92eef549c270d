/** Sandboxes of hosted servers, as this use case needs them; it is given them. */

import type { Duplex } from "node:stream";
import type { PolicyDraft } from "../core/egress-policies.ts";
import type { SandboxLimits } from "../core/engine.ts";
import type { ChosenImage } from "../core/image-record.ts";
import type { LayerId } from "../core/layer.ts";
import type { ServedIo, ServedProgram } from "../core/served-program.ts";
import type { ServerRecord } from "../core/server.ts";
import type { Mask } from "../core/server-link.ts";

/** Says whose a sandbox is. */
export type ServerOwner = Pick<ServerRecord, "id" | "namespace">;

/** Use of a sandbox: all calls over HTTP, those of one person over stdio, or the check of a new version. */
export interface SandboxUse {
  use: "shared" | "person" | "check";
  /** Id of the person's key; empty for the other uses. */
  person: string;
}

export interface OwnedSandbox extends SandboxUse {
  id: string;
  server: ServerOwner;
}

export interface SandboxTerms {
  /** The version's code. */
  root: ChosenImage & { layerId: LayerId };
  env: Readonly<Record<string, string>>;
  limits: Partial<SandboxLimits>;
  network: PolicyDraft;
}

interface ProgramTerms extends ServedIo {
  command: readonly string[];
}

export interface RunningSandbox {
  readonly id: string;
  run(program: ProgramTerms): Promise<ServedProgram>;
  /** Connects to a port inside. */
  dial(port: number): Promise<Duplex>;
  /** Masks values of secrets that it has. */
  readonly mask: Mask;
  /** Resolves with the reason when it is gone, asked for or not. */
  readonly lost: Promise<string>;
  use(): Promise<{ cpuMs: number; memoryBytes: number }>;
}

export interface ServerSandboxes {
  /** Those of all servers, also of servers that are gone. */
  all(): OwnedSandbox[];
  create(server: ServerOwner, use: SandboxUse, terms: SandboxTerms, snapshotId: string | null): Promise<string>;
  /** Starts it on this root, with or without the secrets of its server. */
  start(
    server: ServerOwner,
    id: string,
    terms: Omit<SandboxTerms, "network"> & { secrets: boolean },
  ): Promise<RunningSandbox>;
  /** Changes what applies at once. */
  change(server: ServerOwner, id: string, terms: Pick<SandboxTerms, "limits" | "network">): Promise<void>;
  /** Ends all that runs in it; verified. */
  stop(server: ServerOwner, id: string): Promise<void>;
  destroy(server: ServerOwner, id: string): Promise<void>;
  /** Snapshots its data. */
  save(server: ServerOwner, id: string, description: string): Promise<string>;
  restore(server: ServerOwner, id: string, snapshotId: string): Promise<void>;
  /** Deletes a snapshot; one that is gone is no error. */
  forget(server: ServerOwner, snapshotId: string): Promise<void>;
}
