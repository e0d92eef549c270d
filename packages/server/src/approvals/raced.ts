/** What a promise resolves to; undefined when the signal comes first. */
export async function raced<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal === undefined) return promise;
  if (signal.aborted) return undefined;
  const gate = Promise.withResolvers<undefined>();
  const abort = () => gate.resolve(undefined);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, gate.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
