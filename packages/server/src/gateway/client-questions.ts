import { keepNewest } from "../lib/keep-newest.ts";
import { gatewayLimits } from "./limits.ts";
import { type Answer, type Id, isRequest, type Notification, type Request, withId, withParams } from "./message.ts";
import type { Peer, Upstream } from "./upstream.ts";

interface Question {
  upstream: Upstream;
  /** The server's own id. */
  id: Id;
  method: string;
}

/** Requests of servers that a client was given, under ids that it cannot mix up with those of an earlier instance. */
export class ClientQuestions {
  readonly #prefix: string;
  readonly #asked = new Map<string, Question>();
  #last = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The message as the client gets it; undefined for the end of a question that it was not asked. */
  ask(message: Request | Notification, upstream: Upstream): Request | Notification | undefined {
    if (isRequest(message)) {
      const id = `${this.#prefix}${++this.#last}`;
      this.#asked.set(id, { upstream, id: message.id, method: message.method });
      keepNewest(this.#asked, gatewayLimits.questions * 2);
      return withId(message, id);
    }
    if (message.method !== "notifications/cancelled") return message;
    for (const [id, question] of this.#asked)
      if (question.upstream === upstream && question.id === message.params?.requestId) {
        this.#asked.delete(id);
        return withParams(message, { requestId: id });
      }
    return undefined;
  }

  /** Passes a client's answer on; one to nothing that it was asked is dropped. */
  answer(peer: Peer, answer: Answer, heard: (method: string) => void): void {
    const question = this.#asked.get(String(answer.id));
    if (question === undefined) return;
    this.#asked.delete(String(answer.id));
    heard(question.method);
    question.upstream.answer(peer, withId(answer, question.id));
  }
}
