/**
 * What went wrong on this machine, without where its files lie: callers of a daemon are strangers there. Paths that a sandbox
 * sees as its own stay.
 */
export function hidePaths(text: string): string {
  return text.replace(/(?<![\w./-])\/(?!workspace\b)[\w.@+-]+(?:\/[\w.@+-]*)*/g, "(a path of the host)");
}
