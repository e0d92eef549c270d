// biome-ignore lint/suspicious/noExplicitAny: tests look into it field by field
export type Message = { type: string } & Record<string, any>;

const checks = new WeakMap<Response, (message: Message) => void>();

/** Each message that is read of this answer is held against what is said of it. */
export function checkMessages(response: Response, check: (message: Message) => void): void {
  checks.set(response, check);
}

/** The messages of a stream, SSE or NDJSON, as they come. Leaving it goes away like a client does. */
export async function* messages(response: Response): AsyncGenerator<Message, void> {
  const isSse = response.headers.get("content-type")?.startsWith("text/event-stream");
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const parts = rest.split(isSse ? "\n\n" : "\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const json = isSse ? /^data: (.*)$/m.exec(part)?.[1] : part;
      if (json === undefined || json === "") continue;
      const message = JSON.parse(json);
      checks.get(response)?.(message);
      yield message;
    }
  }
}

export async function allMessages(response: Response): Promise<Message[]> {
  const found: Message[] = [];
  for await (const message of messages(response)) if (message.type !== "heartbeat") found.push(message);
  return found;
}
