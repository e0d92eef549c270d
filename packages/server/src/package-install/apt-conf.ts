/** Settings of apt (apt.conf(5)) by their whole name in small letters; the last one counts. */
export function readAptConf(text: string): Map<string, string> {
  const settings = new Map<string, string>();
  const scopes: string[] = [];
  let name = "";
  let value: string | undefined;
  const end = () => {
    if (name !== "" && value !== undefined) settings.set([...scopes, name].join("::").toLowerCase(), value);
    name = "";
    value = undefined;
  };
  for (const [, quoted, mark, word] of text.matchAll(token)) {
    if (mark === "{") {
      scopes.push(name);
      name = "";
    } else if (mark === "}") {
      end();
      scopes.pop();
    } else if (mark === ";") end();
    else if (quoted !== undefined) value = (value ?? "") + quoted;
    else if (word !== undefined && name === "") name = word;
    else if (word !== undefined) value = word;
  }
  return settings;
}

/** Comments, strings, marks, words. */
const token = /\/\/.*|\/\*[\s\S]*?\*\/|#.*|"([^"\n]*)"|([{};])|([^\s"{};]+)/g;
