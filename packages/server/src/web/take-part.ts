export interface TextPart {
  text: string;
  offset: number;
  /** Of the whole text. */
  totalCharacters: number;
  /** Where the next part begins; null at the end. */
  nextOffset: number | null;
}

/** A part ends between paragraphs or lines where one ends late enough, and never within a character. */
export function takePart(whole: string, offset: number, mostCharacters: number): TextPart {
  const start = Math.min(offset, whole.length);
  let end = Math.min(start + mostCharacters, whole.length);
  if (end < whole.length) {
    const late = start + Math.floor(mostCharacters * 0.7);
    const breaks = ["\n\n", "\n"].map((mark) => whole.lastIndexOf(mark, end - mark.length) + mark.length);
    const found = breaks.find((at) => at > late && at <= end);
    if (found !== undefined) end = found;
    else if (isPair(whole, end)) end--;
  }
  const from = isPair(whole, start) ? start - 1 : start;
  return {
    text: whole.slice(from, end),
    offset: from,
    totalCharacters: whole.length,
    nextOffset: end < whole.length ? end : null,
  };
}

/** Whether a character of two units lies across this place. */
function isPair(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1));
}
