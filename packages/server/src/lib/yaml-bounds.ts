/** Of YAML from strangers: a few KB of it can keep a parser busy for minutes. Checked before anything parses it. */
export interface YamlBounds {
  tokens: number;
  depth: number;
}

/** What is needed of the parser's own lexer, which takes time in proportion to the text, whatever that says. */
interface YamlLexer {
  Lexer: new () => { lex(text: string): Iterable<string> };
  CST: { tokenType(token: string): string | null };
}

function* tokenTypes(text: string, { Lexer, CST }: YamlLexer): Generator<string> {
  let isText = false;
  for (const token of new Lexer().lex(text)) {
    const type: string = isText ? "text" : (CST.tokenType(token) ?? "unknown");
    isText = type === "scalar";
    yield type;
  }
}

/** Undefined where a parser may have it. `refused` has sentences by types of tokens. */
export function whyNotYaml(
  text: string,
  lexer: YamlLexer,
  { tokens, depth }: YamlBounds,
  refused: Readonly<Record<string, string>> = {},
): string | undefined {
  let count = 0;
  let flow = 0;
  let items = 0; // of lists in lists on one line
  for (const type of tokenTypes(text, lexer)) {
    if (refused[type] !== undefined) return refused[type];
    // Each such key in a key multiplies what the parser does.
    if (type === "explicit-key-ind") return "it has keys that begin with '?'";
    if (type === "newline") items = 0;
    if (type === "seq-item-ind") items++;
    if (type.startsWith("flow-")) flow += type.endsWith("-start") ? 1 : -1;
    if (++count > tokens) return "it is too long";
    if (Math.max(flow, items) > depth) return "it is too deep";
  }
  return undefined;
}
