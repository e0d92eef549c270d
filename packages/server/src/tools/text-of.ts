/** Undefined when it is none. A character that is cut in two at the end is left to the next part. */
export function textOf(bytes: Buffer, isPart: boolean): string | undefined {
  if (bytes.includes(0)) return undefined;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    const text = decoder.decode(bytes, { stream: isPart });
    return text === "" && bytes.length > 0 ? undefined : text;
  } catch {
    return undefined;
  }
}
