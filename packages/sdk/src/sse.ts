import { CaissonError } from "./error.ts";

export interface SseEvent {
  id?: string;
  retryMs?: number;
  /** Empty for an event that only gives an id. */
  data: string;
}

/** More than any message of the daemon's. */
const eventCharacters = 64 * 1024 * 1024;

/** The events of a stream, as they come (the HTML standard, server-sent events). Leaving the loop ends the request. */
export async function* readSse(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent, void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest = (rest + decoder.decode(value, { stream: true })).replaceAll("\r\n", "\n");
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      if (rest.length > eventCharacters) throw new CaissonError("an event of the stream is too long");
      for (const block of blocks) {
        const event = readEvent(block);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Undefined for a comment. */
function readEvent(block: string): SseEvent | undefined {
  const lines = block.split("\n").filter((line) => !line.startsWith(":"));
  if (lines.length === 0) return undefined;
  const field = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""));
  const [id] = field("id");
  const retryMs = Number(field("retry")[0] ?? Number.NaN);
  return {
    data: field("data").join("\n"),
    ...(id === undefined ? {} : { id }),
    ...(Number.isFinite(retryMs) ? { retryMs } : {}),
  };
}
