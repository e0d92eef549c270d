import type { Range } from "../core/limits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** What bounds pages and searches, like limits.ts. */
export const webLimits = {
  redirects: 10,
  /** Of a page, unpacked; the rest of it is not read. */
  pageBytes: { default: 2 * MiB, min: 1 * KiB, max: 10 * MiB },
  /** Of its text, at one call. */
  pageCharacters: { default: 20_000, min: 200, max: 200_000 },
  /** Of its text as a whole; there is nothing to be read beyond it. */
  textCharacters: 8_000_000,
  bodyMs: 30_000,
  /** Pages that one sandbox fetches at once. */
  fetches: 8,
  /**
   * Of HTML, as it is handed to whatever reads it. Browsers stop at a depth of 512. What reads it stays far below its memory
   * by these: a thread that runs out of it can take the process along.
   */
  htmlCharacters: 4_000_000,
  elements: 50_000,
  depth: 200,
  attributeCharacters: 2_048,
  /** Of a text in the tree, a paragraph and what stands within a line: longer ones are several. */
  pieceCharacters: 65_536,
  /** Levels of lists and quotations that Markdown shows. */
  indents: 12,
  columns: 32,
  links: 100,
  linkCharacters: 200,
  /** Reading HTML, in a thread of its own. */
  readMs: 20_000,
  readMegabytes: 384,
  readStackMegabytes: 4,
  readers: 2,
  readersWaiting: 64,
  readersWaitingEach: 32,
  queryCharacters: 512,
  results: { default: 10, min: 1, max: 50 },
  titleCharacters: 300,
  snippetCharacters: 600,
  searchBytes: 2 * MiB,
  /** A provider that failed rests for so long, twice as long each further time, up to the most. */
  restMs: { first: 60_000, most: 3_600_000 },
  /** One that takes us for a robot. */
  captchaRestMs: 900_000,
  /** Whose providers' health is remembered: namespaces. */
  remembered: 1_000,
} as const satisfies Record<string, number | Range | Record<string, number>>;
