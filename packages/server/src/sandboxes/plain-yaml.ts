import type { Document } from "yaml";
import { whyNotYaml, type YamlBounds } from "../lib/yaml-bounds.ts";

/** Each can make small text mean something large. */
const refused: Readonly<Record<string, string>> = {
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
  const why = whyNotYaml(text, yaml, bounds, refused);
  if (why !== undefined) throw refuse(why);
  const document = yaml.parseDocument(text, {
    schema: "core",
    uniqueKeys: true,
    prettyErrors: false,
    logLevel: "silent",
  });
  const [problem] = document.errors;
  if (problem !== undefined) throw refuse(`not valid YAML: ${problem.message.slice(0, 200)}`);
  if (!yaml.isMap(document.contents)) throw refuse("it has no fields");
  return document;
}
