interface Example {
  section: string;
  code: string;
  output: string;
}

/** The TypeScript of the page, each piece with what it says that it prints. */
export function findExamples(markdown: string): Example[] {
  const pieces = markdown.matchAll(/^## (.+)$|^```ts\n([\s\S]*?)^```\n(?:```text\n([\s\S]*?)^```\n)?/gm);
  let section = "";
  const examples: Example[] = [];
  for (const [, heading, code, output] of pieces) {
    if (heading !== undefined) section = heading;
    else if (code !== undefined) examples.push({ section, code, output: output ?? "there is no output in the page" });
  }
  return examples;
}
