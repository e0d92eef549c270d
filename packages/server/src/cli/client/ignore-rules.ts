/** A line of an ignore file, as git reads it. */
interface IgnoreRule {
  pattern: RegExp;
  /** It brings back what a rule before it leaves out. */
  isNegated: boolean;
  foldersOnly: boolean;
}

/** Reads the lines of an ignore file. */
export function readIgnoreRules(text: string): IgnoreRule[] {
  return text.split(/\r?\n/).flatMap((line) => readLine(line) ?? []);
}

function readLine(line: string): IgnoreRule | undefined {
  const trimmed = line.replace(/(?<!\\) +$/, "");
  if (trimmed === "" || trimmed.startsWith("#")) return undefined;
  const isNegated = trimmed.startsWith("!");
  const given = isNegated ? trimmed.slice(1) : trimmed;
  const foldersOnly = given.endsWith("/");
  const glob = foldersOnly ? given.slice(0, -1) : given;
  if (glob === "") return undefined;
  const isAnchored = glob.includes("/");
  const body = toPattern(glob.replace(/^\//, ""));
  return { pattern: new RegExp(`^${isAnchored ? "" : "(?:.*/)?"}${body}$`, "s"), isNegated, foldersOnly };
}

const pieces = /\*\*\/|\/\*\*$|\*\*|\*|\?|\[[!^]?\]?[^\]]*\]|\\.|./gs;

function toPattern(glob: string): string {
  return (glob.match(pieces) ?? []).map(toPiece).join("");
}

function toPiece(piece: string): string {
  if (piece === "**/") return "(?:.*/)?";
  if (piece === "/**") return "/.*";
  if (piece === "**" || piece === "*") return "[^/]*";
  if (piece === "?") return "[^/]";
  if (piece.length > 2 && piece.startsWith("[")) return toClass(piece);
  return escapePattern(piece.length === 2 && piece.startsWith("\\") ? piece.slice(1) : piece);
}

/** A set of characters in brackets, which never holds a slash. */
function toClass(piece: string): string {
  const isNegated = /^\[[!^]/.test(piece);
  const inside = piece.slice(isNegated ? 2 : 1, -1).replace(/[\\\][^]/g, "\\$&");
  return `(?!/)[${isNegated ? "^" : ""}${inside}]`;
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** Decides by the last rule that matches a path below the file's folder; undefined if none matches. */
export function isIgnored(rules: readonly IgnoreRule[], path: string, isFolder: boolean): boolean | undefined {
  const last = rules.findLast(({ pattern, foldersOnly }) => (isFolder || !foldersOnly) && pattern.test(path));
  return last === undefined ? undefined : !last.isNegated;
}
