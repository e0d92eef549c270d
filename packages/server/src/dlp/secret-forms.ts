/** The ways in which programs write a value down (SEC-06). What is not here is not caught: docs/secrets.md lists it. */

function percentHex(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

/** Percent-encoded but for what `keep` lets stand. */
function percent(bytes: Buffer, keep: RegExp): string {
  let text = "";
  for (const byte of bytes) {
    const letter = String.fromCharCode(byte);
    text += byte < 0x80 && keep.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}

function escapeUnicode(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Inside a longer text that is encoded as a whole: without the letters that depend on what stands before and after. */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const endsWithin = (before + bytes.length) % 3 !== 0;
    return text.slice([0, 2, 3][before], endsWithin ? -1 : undefined);
  });
}

function urlSafe(core: string): string {
  return core.replaceAll("+", "-").replaceAll("/", "_");
}

/** Those whose lines encoders break. */
export function encodedForms(value: Buffer): Buffer[] {
  const hex = value.toString("hex");
  const cores = base64Cores(value);
  return [hex, hex.toUpperCase(), ...cores, ...cores.map(urlSafe)].map((form) => Buffer.from(form));
}

const unreserved = /[A-Za-z0-9_.~-]/;

function urlForms(bytes: Buffer): string[] {
  const upper = [
    percent(bytes, /[A-Za-z0-9_.!~*'()-]/), // encodeURIComponent
    percent(bytes, unreserved), // RFC 3986, and Python's quote(safe="")
    percent(bytes, /[A-Za-z0-9_.~/-]/), // Python's quote
    percent(bytes, /[A-Za-z0-9_.~ -]/).replaceAll(" ", "+"), // quote_plus
    percent(bytes, /[A-Za-z0-9_.* -]/).replaceAll(" ", "+"), // forms
    percent(bytes, /[A-Za-z0-9_.!~*'();/?:@&=+$,#-]/), // encodeURI
    percent(bytes, /[^\s\S]/), // everything
  ];
  return [...upper, ...upper.map(percentHex)];
}

/** As Python shows bytes, in either kind of quotes. */
function escapedBytes(bytes: Buffer): string[] {
  const short: Record<number, string> = { 9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\" };
  const letter = (byte: number) =>
    short[byte] ?? (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`);
  const text = Array.from(bytes, letter).join("");
  return [text, text.replaceAll("'", "\\'")];
}

function jsonForms(text: string): string[] {
  const once = JSON.stringify(text).slice(1, -1);
  const ascii = escapeUnicode(once);
  const forms = [once, ascii, ascii.replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`)];
  const slashed = forms.map((form) => form.replaceAll("/", "\\/"));
  const twice = [once, ascii].map((form) => JSON.stringify(form).slice(1, -1));
  return [...forms, ...slashed, ...twice];
}

/** Each as bytes, none twice. */
export function secretForms(value: Buffer): Buffer[] {
  const text = value.toString("utf8");
  const isText = Buffer.from(text).equals(value);
  const hex = value.toString("hex");
  const pairs = hex.match(/../g) ?? [];
  const cores = base64Cores(value);
  const forms = [
    hex,
    hex.toUpperCase(),
    ...cores,
    ...cores.map(urlSafe),
    pairs.map((pair) => `\\x${pair}`).join(""),
    pairs.map((pair) => `\\x${pair.toUpperCase()}`).join(""),
    ...[":", " "].flatMap((mark) => [pairs.join(mark), pairs.join(mark).toUpperCase()]),
    ...escapedBytes(value),
    ...urlForms(value),
    ...(isText ? jsonForms(text) : []),
  ];
  const seen = new Map([[value.toString("latin1"), value]]);
  for (const form of forms) {
    const bytes = Buffer.from(form);
    seen.set(bytes.toString("latin1"), bytes);
  }
  return [...seen.values()];
}
