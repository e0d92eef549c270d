/** Of a sandbox, each its own: the beginning of its id, no longer than programs show one. */
export function hostNameOf(id: string): string {
  return id.slice(0, 12);
}
