import type { Range } from "../core/limits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** Limits on pages and searches. */
export const webLimits = {
  redirects: 10,
  /** Maximum size of an unpacked page; the rest of it is not read. */
  pageBytes: { default: 2 * MiB, min: 1 * KiB, max: 10 * MiB },
  /** Maximum characters of a page's text that one call returns. */
  pageCharacters: { default: 20_000, min: 200, max: 200_000 },
  /** Maximum characters of a page's whole text; no call returns what is beyond them. */
  textCharacters: 8_000_000,
  bodyMs: 30_000,
  /** Pages that one sandbox fetches at once. */
  fetches: 8,
  /**
   * Bounds of HTML that a parser receives. Browsers stop at a depth of 512. The parser stays far below its memory
   * by these: a thread that runs out of it can take the process along.
   */
  htmlCharacters: 4_000_000,
  elements: 50_000,
  depth: 200,
  attributeCharacters: 2_048,
  /** Maximum length of one text in the tree, one paragraph or one inline element; longer ones are split. */
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
  /** Rest of a provider that asked for a captcha. */
  captchaRestMs: 900_000,
  /** Namespaces whose providers' health is remembered. */
  remembered: 1_000,
} as const satisfies Record<string, number | Range | Record<string, number>>;
