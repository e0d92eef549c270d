/** One entry of apt's lists of sources (sources.list(5)). */
export interface AptEntry {
  uris: string[];
  suites: string[];
  components: string[];
  /** Other fields as deb822 has them, names in small letters. */
  fields: Map<string, string>;
}

/** Lines of `deb [options] uri suite component…`. */
export function readListFile(text: string): AptEntry[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const [, options = "", rest = ""] = /^\s*deb\s+(?:\[([^\]]*)\]\s*)?([^#]*)/.exec(line) ?? [];
    const [uri, suite, ...components] = rest.trim().split(/\s+/);
    if (!uri || suite === undefined) return [];
    const fields = new Map<string, string>();
    for (const option of options.trim().split(/\s+/)) {
      const [, name, value] = /^([^=]+?)[+-]?=(.*)$/.exec(option) ?? [];
      const long = name === undefined ? undefined : (longNames[name.toLowerCase()] ?? name.toLowerCase());
      if (long !== undefined) fields.set(long, (value ?? "").replaceAll(",", " "));
    }
    return [{ uris: [uri], suites: [suite], components, fields }];
  });
}

const longNames: Record<string, string> = { arch: "architectures", lang: "languages", target: "targets" };

/** Paragraphs of fields; a line that begins with a space goes on with the one before it. */
export function readSourcesFile(text: string): AptEntry[] {
  return text.split(/\r?\n[ \t]*(?:\r?\n)+/).flatMap((paragraph) => {
    const fields = new Map<string, string>();
    let last: string | undefined;
    for (const line of paragraph.split(/\r?\n/)) {
      if (line.startsWith("#")) continue;
      const [, name, value = ""] = /^([^\s:]+):\s*(.*)$/.exec(line) ?? [];
      if (name !== undefined && !/^\s/.test(line)) {
        last = name.toLowerCase();
        fields.set(last, value.trim());
      } else if (last !== undefined && /^\s/.test(line)) fields.set(last, `${fields.get(last) ?? ""}\n${line}`);
    }
    const words = (name: string) => (fields.get(name) ?? "").split(/\s+/).filter((word) => word !== "");
    const isOn = !/^(no|false|0|off)$/i.test(fields.get("enabled") ?? "yes");
    const entry = { uris: words("uris"), suites: words("suites"), components: words("components"), fields };
    const found = isOn && words("types").includes("deb") && entry.uris.length > 0 && entry.suites.length > 0;
    for (const name of ["types", "uris", "suites", "components", "enabled"]) fields.delete(name);
    return found ? [entry] : [];
  });
}
