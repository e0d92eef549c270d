/** Of what the record of a run keeps of its output, where that is something. */
export interface OutputHashes {
  stdout_sha256?: string;
  stderr_sha256?: string;
}

/** Beside a result, not in it: they are for the audit log, and no caller. */
const noted = new WeakMap<object, OutputHashes>();

export function withHashes<T extends object>(result: T, hashes: OutputHashes): T {
  noted.set(result, hashes);
  return result;
}

export const hashesOf = (result: object): OutputHashes => noted.get(result) ?? {};
