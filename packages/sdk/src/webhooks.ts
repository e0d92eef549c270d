import type { Transport } from "./transport.ts";

export interface WebhookInfo {
  id: string;
  namespace: string;
  url: string;
  types: string[];
  created_at: string;
}

export interface WebhookDelivery {
  id: string;
  type: string;
  state: "pending" | "delivered" | "dead";
  attempts: number;
  created_at: string;
  due_at: string;
  last_error: string | null;
}

const path = "/api/v1/webhooks";
const one = (id: string) => `${path}/${encodeURIComponent(id)}`;

export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The answer alone shows the secret. */
  create(url: string, types?: readonly string[]): Promise<WebhookInfo & { secret: string }> {
    const json = { url, ...(types === undefined ? {} : { types }) };
    return this.#transport.json("POST", path, { json });
  }

  list(): Promise<WebhookInfo[]> {
    return this.#transport.json("GET", path);
  }

  async delete(id: string): Promise<void> {
    await this.#transport.json("DELETE", one(id));
  }

  deliveries(id: string, state?: WebhookDelivery["state"]): Promise<WebhookDelivery[]> {
    return this.#transport.json("GET", `${one(id)}/deliveries`, { query: { state } });
  }

  /** Tries a dead delivery again. */
  async retry(id: string, delivery: string): Promise<void> {
    await this.#transport.json("POST", `${one(id)}/deliveries/${encodeURIComponent(delivery)}/retry`);
  }
}
