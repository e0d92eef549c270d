/** Specification of an image, from a small YAML file (IMG-02). */
export interface ImageSpec {
  name: string;
  description: string;
  /** Other names it is started by. */
  aliases: readonly string[];
  /** Packages of the machine's own apt sources, with all they depend on. */
  debian: readonly string[];
  pip: readonly string[];
  npm: readonly string[];
  /** Texts by absolute path. */
  files: Readonly<Record<string, string>>;
  env: Readonly<Record<string, string>>;
  /** Shell lines, in the image, with the tree to come below $TREE; without a network. */
  run: readonly string[];
}

/** One that comes with the program. */
export interface CatalogueEntry {
  spec: ImageSpec;
  /** As it is in the file. */
  text: string;
}
