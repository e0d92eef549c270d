/** The program of a hosted server, as long as it runs. */

export interface ServedIo {
  /** True: its stdin is a pipe that can be written to. Otherwise its stdin is empty. */
  hasInput: boolean;
  /** Takes stdout as it comes. The chunk is written again once the promise is done, or at once without one. */
  stdout?: (chunk: Buffer) => Promise<void> | undefined;
  /** True: stdout goes to the log as well. */
  logsStdout: boolean;
  /** Takes stderr, with values of secrets masked. */
  log: (piece: Buffer) => Promise<void> | undefined;
}

export interface ServedProgram {
  /** Resolves with why it is over, once all of its output was handed on. */
  readonly ended: Promise<string>;
  /** Resolves when there is room for more. False when the program no longer reads. */
  write(chunk: Uint8Array): Promise<boolean>;
  /** For its process group. */
  signal(number: number): void;
  /** Ends its whole tree; output that was not handed on yet is dropped. */
  kill(): void;
}
