// Code of a context is a script, which knows no import: `import(` becomes a function of the kernel's, and an import
// statement the same call in a declaration. Strings, templates, comments and regular expressions stay as they are.
const keywordsBeforeRegex =
  /(?:^|[^\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|do|else|await|yield|instanceof)$/;
const skipped = [/\/\/[^\n]*/y, /\/\*[\s\S]*?\*\//y, /"(?:[^"\\\n]|\\[\s\S])*"/y, /'(?:[^'\\\n]|\\[\s\S])*'/y];
const regex = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
const call = /import(?=\s*\()/y;
const statement = /import\s*(?:([\w$]+)\s*)?,?\s*(?:\{([^}]*)\}|\*\s*as\s+([\w$]+))?\s*(?:from\s*)?(["'])([^"'\n]+)\4/y;

function matchAt(pattern, code, at) {
  pattern.lastIndex = at;
  return pattern.exec(code);
}

function declare([whole, byDefault, named, all, , from]) {
  const load = `await $mport(${JSON.stringify(from)})`;
  const lines = "\n".repeat(whole.split("\n").length - 1);
  if (all !== undefined) return `const ${all} = ${load}${byDefault ? `, ${byDefault} = ${all}.default` : ""}${lines}`;
  const names = named?.replace(/\s+as\s+/g, ": ").replace(/\n/g, " ") ?? "";
  const parts = [byDefault && `default: ${byDefault}`, names].filter(Boolean).join(", ");
  return `${parts === "" ? load : `const { ${parts} } = ${load}`}${lines}`;
}

/** Whether a slash here begins a regular expression: not after a value. */
function beginsRegex(before) {
  return /(^|[^\w$)\]}"'`])$/.test(before) || keywordsBeforeRegex.test(before);
}

export function withImports(code) {
  if (!/\bimport\b/.test(code)) return code;
  let out = "";
  let last = ""; // the end of what stands before, without space and comments
  const braces = []; // what a closing brace goes back to: a template, or code
  let inTemplate = false;
  for (let at = 0; at < code.length; ) {
    const char = code[at];
    let taken = char;
    let written;
    if (inTemplate) {
      if (char === "\\") taken = code.slice(at, at + 2);
      else if (char === "`") inTemplate = false;
      else if (code.startsWith("${", at)) {
        taken = "${";
        braces.push(true);
        inTemplate = false;
      }
    } else {
      const skip = /["'/]/.test(char) && skipped.map((pattern) => matchAt(pattern, code, at)).find(Boolean);
      const isWord = char === "i" && (!/[\w$.]/.test(code[at - 1] ?? " ") || code.slice(at - 3, at) === "...");
      if (skip) taken = skip[0];
      else if (char === "/" && beginsRegex(last)) taken = matchAt(regex, code, at)?.[0] ?? char;
      else if (char === "`") inTemplate = true;
      else if (char === "{") braces.push(false);
      else if (char === "}") inTemplate = braces.pop() === true;
      else if (isWord && matchAt(call, code, at)) {
        taken = "import";
        written = "$mport";
      } else if (isWord && braces.length === 0 && matchAt(statement, code, at)) {
        const found = matchAt(statement, code, at);
        taken = found[0];
        written = declare(found);
      }
    }
    out += written ?? taken;
    if (/\S/.test(taken) && !/^\/[/*]/.test(taken)) last = (last + (taken.length > 1 ? '"' : taken)).slice(-12);
    else if (/\s/.test(taken) && /[\w$]$/.test(last)) last += " ";
    at += taken.length;
  }
  return out;
}
