/** What an engine saved of a sandbox: its memory, and its files as they were at that moment. */
export interface Checkpoint {
  /** The engine's own. */
  id: string;
  memoryBytes: number;
}
