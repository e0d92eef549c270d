/** Files of keys and values under headings, as pip and npm have them. A line that is indented goes on with the value before it. */
export function readIni(text: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section = sectionOf(sections, "");
  let last: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;]|$)/.test(line)) continue;
    const [, heading] = /^\[([^\]]+)\]/.exec(line) ?? [];
    if (heading !== undefined) {
      section = sectionOf(sections, heading.trim());
      last = undefined;
    } else if (/^\s/.test(line) && last !== undefined) {
      section.set(last, `${section.get(last) ?? ""}\n${line.trim()}`.trim());
    } else {
      const [, key, value = "true"] = /^\s*([^=]+?)\s*(?:=\s*(.*?))?\s*$/.exec(line) ?? [];
      if (key === undefined) continue;
      last = key;
      section.set(key, value.replace(/^(["'])(.*)\1$/, "$2"));
    }
  }
  return sections;
}

function sectionOf(sections: Map<string, Map<string, string>>, name: string): Map<string, string> {
  const section = sections.get(name) ?? new Map<string, string>();
  sections.set(name, section);
  return section;
}
