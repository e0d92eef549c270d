import type { ServerContext } from "@modelcontextprotocol/server";
import { toolLimits } from "../tools/limits.ts";

/**
 * What a call tells while it runs, where its client asked for that. What comes within a short time goes out as one; past a
 * limit nothing goes out, since a client that does not read has it all kept for it.
 */
export class Progress {
  readonly #token: string | number;
  readonly #notify: ServerContext["mcpReq"]["notify"];
  #count = 0;
  #left: number = toolLimits.toldBytes;
  #waiting = "";
  #timer: NodeJS.Timeout | undefined;
  #sent: Promise<void> = Promise.resolve();

  private constructor(token: string | number, notify: ServerContext["mcpReq"]["notify"]) {
    this.#token = token;
    this.#notify = notify;
  }

  static of({ mcpReq }: ServerContext): Progress | undefined {
    const token = mcpReq._meta?.progressToken;
    return token === undefined ? undefined : new Progress(token, mcpReq.notify);
  }

  readonly tell = (message: string): void => {
    const taken = message.slice(0, this.#left);
    this.#left -= taken.length;
    this.#waiting += taken;
    if (this.#waiting === "" || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#waiting !== "") this.#send();
    }, toolLimits.progressEveryMs);
    this.#send();
  };

  /** Resolves once all that was told is on its way: before the result. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting !== "") this.#send();
    await this.#sent;
  }

  #send(): void {
    const params = { progressToken: this.#token, progress: ++this.#count, message: this.#waiting };
    this.#waiting = "";
    const send = () => this.#notify({ method: "notifications/progress", params });
    // A client that is gone has its call ended by whoever sees that.
    this.#sent = this.#sent.then(send).catch(() => undefined);
  }
}
