/** The first lines of an answer. Fields are names and values in turn, as a parser gave them. */
export function formatHead(status: number, text: string, fields: readonly string[]): string {
  const lines = [`HTTP/1.1 ${status} ${text}`];
  for (let i = 0; i + 1 < fields.length; i += 2) lines.push(`${fields[i]}: ${fields[i + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
