/** Without more room than between words, and of at most so many characters. */
export function oneLine(text: string, mostCharacters: number): string {
  const line = text
    .slice(0, mostCharacters * 8)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > mostCharacters ? `${line.slice(0, mostCharacters - 1).toWellFormed()}…` : line;
}
