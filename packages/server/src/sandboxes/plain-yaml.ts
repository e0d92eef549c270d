import type { Document } from "yaml";

/** Of YAML from strangers: a few lines of it can keep a parser busy for minutes, or stand for gigabytes. */
export interface YamlBounds {
  tokens: number;
  depth: number;
}

/** Each can make small text mean something large. */
const refused: Readonly<Record<string, string>> = {
  "explicit-key-ind": "it has keys that begin with '?'",
  anchor: "it has anchors",
  alias: "it has aliases",
  tag: "it has tags",
};

/**
 * A document of plain fields and lists; `refuse` says why there is none. Read single nodes out of it (`getIn`): a conversion of
 * the whole takes time that nothing here bounds.
 */
export async function parsePlainYaml(
  text: string,
  bounds: YamlBounds,
  refuse: (why: string) => Error,
): Promise<Document> {
  const { default: yaml } = await import("yaml"); // few ask for it
  const why = whyNot(tokenTypes(text, yaml), bounds);
  if (why !== undefined) throw refuse(why);
  const document = yaml.parseDocument(text, {
    schema: "core",
    uniqueKeys: true,
    prettyErrors: false,
    logLevel: "silent",
  });
  const [problem] = document.errors;
  if (problem !== undefined) throw refuse(`it is no YAML: ${problem.message.slice(0, 200)}`);
  if (!yaml.isMap(document.contents)) throw refuse("it holds no fields");
  return document;
}

type Yaml = Pick<typeof import("yaml"), "Lexer" | "CST">;

/** The lexer takes time in proportion to the text, whatever that says. */
function* tokenTypes(text: string, { Lexer, CST }: Yaml): Generator<string> {
  let isText = false;
  for (const token of new Lexer().lex(text)) {
    const type: string = isText ? "text" : (CST.tokenType(token) ?? "unknown");
    isText = type === "scalar";
    yield type;
  }
}

function whyNot(types: Iterable<string>, { tokens, depth }: YamlBounds): string | undefined {
  let count = 0;
  let flow = 0;
  let items = 0; // of lists in lists on one line
  for (const type of types) {
    if (refused[type] !== undefined) return refused[type];
    if (type === "newline") items = 0;
    if (type === "seq-item-ind") items++;
    if (type.startsWith("flow-")) flow += type.endsWith("-start") ? 1 : -1;
    if (++count > tokens) return "it is too long";
    if (Math.max(flow, items) > depth) return "it is too deep";
  }
  return undefined;
}
