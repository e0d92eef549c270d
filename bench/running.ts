const running = new Set<AsyncDisposable>();

/** What runs on when this process is interrupted, unless it is ended before; gives back how to forget it. */
export function endsWithBench(one: AsyncDisposable): () => void {
  running.add(one);
  return () => running.delete(one);
}

/** For an interrupted bench. */
export async function endAll(): Promise<void> {
  for (const one of running) await one[Symbol.asyncDispose]();
}
