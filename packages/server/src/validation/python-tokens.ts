/** One of ruff's tokens; its text is what the source has there, identifiers in the form that Python compares them in. */
export interface Token {
  kind: string;
  text: string;
  /** UTF-16 units. */
  start: number;
  end: number;
}

const line = /^ {4}(\w+) (\d+)\.\.(\d+)(?: \((?:flags = )?([^)]*)\))?,$/;

/** Reads ruff's list of tokens, whose offsets are bytes of UTF-8. Comments and line ends inside brackets are left out. */
export function readTokens(dump: string, code: string): Token[] {
  const toUnits = byteToUnits(code);
  const tokens: Token[] = [];
  for (const text of dump.split("\n")) {
    const match = line.exec(text);
    if (match === null) continue;
    const kind = match[1] ?? "";
    if (kind === "Comment" || kind === "NonLogicalNewline") continue;
    const start = toUnits(Number(match[2]));
    const end = toUnits(Number(match[3]));
    const source = code.slice(start, end);
    // PEP 3131: identifiers are compared in NFKC, so 𝑒val is eval.
    tokens.push({ kind, start, end, text: match[4]?.includes("NON_ASCII") ? source.normalize("NFKC") : source });
  }
  return tokens;
}

/** Offsets are asked for in ascending order. */
function byteToUnits(code: string): (offset: number) => number {
  if (Buffer.byteLength(code) === code.length) return (offset) => offset;
  let bytes = 0;
  let units = 0;
  return (offset) => {
    if (offset < bytes) bytes = units = 0;
    while (bytes < offset && units < code.length) {
      const point = code.codePointAt(units) ?? 0;
      bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      units += point < 0x10000 ? 1 : 2;
    }
    return units;
  };
}

/** Keywords in some places, names in all others. */
const nameKinds = new Set(["Identifier", "Case", "Lazy", "Match", "Type"]);

export const isName = (token: Token | undefined): token is Token => token !== undefined && nameKinds.has(token.kind);

const statementEnds = new Set(["Newline", "Indent", "Dedent", "Semi", "Colon"]);

/** Whether a statement may begin there. */
export const beginsStatement = (before: Token | undefined): boolean =>
  before === undefined || statementEnds.has(before.kind) || before.text === "lazy";

/** What a plain string literal holds; undefined where escapes or an odd prefix would have to be worked out. */
export function literalOf({ kind, text }: Token): string | undefined {
  if (kind !== "String") return undefined;
  const match = /^[rRuUbB]{0,2}('''|"""|'|")([\s\S]*)\1$/.exec(text);
  return match?.[2];
}
