import type { ContentKind } from "./content-kind.ts";

const sniffedBytes = 1_024;

/** Byte order mark, then the server's word, then the page's own, then what it looks like (as the HTML standard has it). */
export function decodeText(bytes: Buffer, charset: string | undefined, kind: ContentKind): string {
  const labels = [markOf(bytes), charset, kind === "json" ? undefined : saidInside(bytes)];
  for (const label of labels) {
    const decoder = label === undefined ? undefined : decoderOf(label);
    if (decoder !== undefined) return decoder.decode(bytes);
  }
  try {
    // A page that was cut may end within a character.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function markOf(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))) return "utf-8";
  if (bytes.subarray(0, 2).equals(Buffer.from([0xfe, 0xff]))) return "utf-16be";
  if (bytes.subarray(0, 2).equals(Buffer.from([0xff, 0xfe]))) return "utf-16le";
  return undefined;
}

function saidInside(bytes: Buffer): string | undefined {
  const start = bytes.toString("latin1", 0, sniffedBytes);
  const said =
    /^\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]{1,40})/i.exec(start)?.[1] ??
    /<meta[^>]{0,400}?\bcharset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(start)?.[1];
  // It could not have been read if it were.
  return said !== undefined && /^utf-?16/i.test(said) ? "utf-8" : said;
}

function decoderOf(label: string) {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
