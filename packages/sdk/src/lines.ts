import { CaissonError, ConnectionError } from "./error.ts";

/** A line longer than this is no message of the daemon's. */
const lineCharacters = 64 * 1024 * 1024;

/** The messages of a stream of JSON lines, as they come. Leaving the loop ends the request. */
export async function* readLines<T>(response: Response): AsyncGenerator<T, void> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new ConnectionError("the stream broke off", { cause });
      });
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > lineCharacters) throw new CaissonError("a line of the stream is too long");
      for (const line of lines) if (line !== "") yield JSON.parse(line) as T;
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
