import type { Batch } from "./batch.ts";
import type { Caller } from "./principal.ts";

/** Read-only roots that sandboxes start from. They belong to the installation: administrators bring them, every namespace may use them. */
export const imageSources = ["catalogue", "spec", "oci"] as const;
type ImageSource = (typeof imageSources)[number];

export const imageStates = ["building", "ready", "failed"] as const;
type ImageState = (typeof imageStates)[number];

/** Settings of an image for its processes. */
export interface ImageConfig {
  env: Readonly<Record<string, string>>;
  /** PATH of user code; the usual one where it is null. */
  searchPath: string | null;
  /** Default working folder of runs; /workspace where it is null. */
  workdir: string | null;
  /** Whom it would run as. Told, not obeyed: code is uid 1000 in every image. */
  user: string | null;
  entrypoint: readonly string[];
  cmd: readonly string[];
}

export const plainConfig: ImageConfig = {
  env: {},
  searchPath: null,
  workdir: null,
  user: null,
  entrypoint: [],
  cmd: [],
};

export interface ImageRecord {
  id: string;
  /** Name of the image. Of several ready ones with the same name, the newest counts. */
  name: string;
  aliases: readonly string[];
  description: string;
  source: ImageSource;
  /** Digest of its specification or OCI manifest. An image is not made twice from the same one. */
  digest: string;
  /** Null until it is ready. */
  layerId: string | null;
  config: ImageConfig;
  bytes: number;
  state: ImageState;
  /** The one under way, or the one that failed. */
  step: string | null;
  error: string | null;
  createdAtMs: number;
  createdBy: string;
}

export type ImageChanges = Partial<Pick<ImageRecord, "layerId" | "bytes" | "state" | "step" | "error" | "config">>;

export interface ImageRecords {
  insert(record: ImageRecord, within?: Batch): Promise<void>;
  update(id: string, changes: ImageChanges, within?: Batch): Promise<void>;
  /** Newest first. */
  list(): Promise<ImageRecord[]>;
  delete(id: string, within?: Batch): Promise<void>;
}

/** An image as whoever makes a sandbox of it needs it. */
export interface ChosenImage {
  name: string;
  /** Null: the machine's own root. */
  layerId: string | null;
}

/** Images that a fleet may make sandboxes of. */
export interface ImageChoice {
  /** By name, alias or id; refuses what is not there, and says what is. */
  choose(image: string): ChosenImage;
  /** True when the image is being made, or can be made on its first use. */
  isComing?(image: string): boolean;
}

/** Waits for a missing image, which is made if it is not being made; undefined when there is nothing to wait for. */
export type EnsureImage = (caller: Caller, image: string) => Promise<void> | undefined;
