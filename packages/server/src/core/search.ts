import type { FileType } from "./file.ts";

export interface SearchOptions {
  /** A glob: of the last name, or of the path from the folder on when it holds a slash. */
  name?: string;
  /** Text that a line holds. Without it names alone are searched for. */
  text?: string;
  /** ASCII letters of either case are the same, in names and in text. */
  ignoreCase?: boolean;
  /** Look into files that hold a NUL too. */
  binary?: boolean;
  /** Most matches that are told. */
  limit?: number;
}

export interface SearchMatch {
  /** Relative to the folder that was searched. Bytes that are not UTF-8 appear as U+FFFD. */
  path: string;
  type: FileType;
  /** With text: where it stands first in a line, both from 1, the column in bytes. */
  line?: number;
  column?: number;
  /** The line, or as much of it around the match as is told. */
  text?: string;
}

export interface SearchSummary {
  matches: number;
  filesRead: number;
  /** True when a limit ended the search or left something out. */
  truncated: boolean;
}
