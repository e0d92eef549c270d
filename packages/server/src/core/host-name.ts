/** Returns a sandbox's host name: the beginning of its id, as long as programs show host names. */
export function hostNameOf(id: string): string {
  return id.slice(0, 12);
}
