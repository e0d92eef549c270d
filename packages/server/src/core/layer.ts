/**
 * A layer is the volume of a sandbox that its engine froze: a tree for `/workspace`, one for the home folder, never written
 * again. Sandboxes have it as their read-only root, or as the lower side of their own volume, any number at once: its
 * place on the disk and its pages in memory are shared. Only engines make layers; everyone else knows them by their id.
 */
export type LayerId = string;

export const layerId = /^[a-z2-7]{16}$/;

export interface LayerInfo {
  id: LayerId;
  /** SHA-256 over its data, checked before it is used. Null until it is known, and for a plain folder always. */
  digest: string | null;
  /** Size on the disk, without the layers below it. */
  bytes: number;
  /** Layers below it, the nearest first. */
  below: readonly LayerId[];
  createdAt: string;
  /** Sandboxes and layers that need it; it cannot be removed while there are any. Nobody removes it when there are none. */
  uses: number;
}

export interface FreezeOptions {
  /** True: the sandbox is stopped, and its next start is on top of the layer. False: it is destroyed. */
  keep: boolean;
  /** It is not stopped: the layer is a copy, taken while nothing can be written. It is always kept then. */
  copy?: boolean;
  /** It is made for copies: who asked says when all have it (`releaseLayer`), and then it goes with the last that lies on it. */
  lent?: boolean;
}
