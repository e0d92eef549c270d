import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Batch } from "../core/batch.ts";
import type { Dialer } from "../core/dialer.ts";
import { AppError } from "../core/errors.ts";
import type { EventReader, FeedType, Journal, JournalEvent, Position } from "../core/journal.ts";
import type { Delivery, Webhook, Webhooks } from "../core/webhook.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { webhookLimits } from "./limits.ts";
import { newWebhookSecret, signedHeaders } from "./webhook-signature.ts";

export interface WebhookSenderParts {
  journal: Journal;
  webhooks: Webhooks;
  /** Begins a transaction of the store. */
  batch: () => Batch;
  dialer: Dialer;
  /** Told of what went wrong beside a delivery's own record. */
  onError: (error: unknown) => void;
  clock?: Clock;
  waitsMs?: readonly number[];
}

/**
 * Reads events from the journal, stores a delivery for each webhook that wants it, and tries until it arrives. A delivery is
 * stored together with the webhook's position: a daemon that is killed before goes on behind the last one that is.
 */
export class WebhookSender implements AsyncDisposable {
  readonly #parts: WebhookSenderParts;
  readonly #clock: Clock;
  readonly #waitsMs: readonly number[];
  readonly #webhooks = new Map<string, Webhook>();
  /** Deliveries of each webhook that wait, as far as this process knows. */
  readonly #pending = new Map<string, number>();
  readonly #underWay = new Map<string, Promise<void>>();
  #reader: EventReader;
  #reached: Position;
  #sinceStored = 0;
  #reading: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #settled = 0;
  #closed = false;

  private constructor(parts: WebhookSenderParts, webhooks: readonly Webhook[], pending: ReadonlyMap<string, number>) {
    const { journal } = parts;
    this.#parts = parts;
    this.#clock = parts.clock ?? systemClock;
    this.#waitsMs = parts.waitsMs ?? webhookLimits.waitsMs;
    for (const webhook of webhooks) {
      this.#webhooks.set(webhook.id, webhook);
      this.#pending.set(webhook.id, pending.get(webhook.id) ?? 0);
    }
    this.#reached = Math.min(journal.last, ...webhooks.map(({ position }) => position));
    this.#reader = journal.read({}, this.#reached);
    this.#reading = this.#follow();
  }

  /** Goes on with what an earlier process left. */
  static async open(parts: WebhookSenderParts): Promise<WebhookSender> {
    const { webhooks } = parts;
    const sender = new WebhookSender(parts, await webhooks.list(), await webhooks.countPending());
    sender.#look();
    return sender;
  }

  async add(namespace: string, url: string, types: readonly FeedType[]): Promise<Webhook> {
    const mine = [...this.#webhooks.values()].filter((webhook) => webhook.namespace === namespace);
    if (mine.length >= webhookLimits.perNamespace)
      throw new AppError("limit_exceeded", `a namespace has ${webhookLimits.perNamespace} webhooks at most`);
    const id = `wh_${randomUUID()}`;
    const createdAtMs = this.#clock.wallMs();
    const position = this.#parts.journal.last;
    const webhook = { id, namespace, url, types, secret: newWebhookSecret(), createdAtMs, position };
    await this.#parts.webhooks.insert(webhook);
    this.#webhooks.set(webhook.id, webhook);
    return webhook;
  }

  async remove(id: string): Promise<void> {
    this.#webhooks.delete(id);
    this.#pending.delete(id);
    await this.#parts.webhooks.delete(id);
  }

  /** Tries a dead delivery again, from the start. */
  async retry(delivery: Delivery): Promise<void> {
    if (delivery.state !== "dead")
      throw new AppError("conflict", `delivery ${delivery.id} is ${delivery.state}, not dead`);
    await this.#parts.webhooks.settle(delivery.id, { state: "pending", attempts: 0, dueAtMs: this.#clock.wallMs() });
    this.#count(delivery.webhookId, 1);
    this.#look();
  }

  async #follow(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#readOn();
        if (!this.#closed) this.#reader = this.#parts.journal.read({}, this.#reached);
      } catch (error) {
        this.#parts.onError(error);
        await sleep(webhookLimits.storeAgainMs, undefined, { ref: false });
      }
    }
  }

  /** Ends where this reader has missed events: the store has them for the next one. */
  async #readOn(): Promise<void> {
    let isFirst = true;
    for await (const event of this.#reader) {
      if (event.type === "events.lag") {
        if (!isFirst) return;
        this.#parts.onError(new AppError("unavailable", `webhooks missed ${event.dropped} events that are not kept`));
        this.#reached = event.id ?? this.#reached;
      } else await this.#take(event);
      isFirst = false;
    }
  }

  async #take(event: JournalEvent): Promise<void> {
    for (const webhook of this.#webhooks.values()) {
      if (!wants(webhook, event)) continue;
      while (!(await this.#enqueued(webhook, event))) {
        if (this.#closed) return;
        await sleep(webhookLimits.storeAgainMs, undefined, { ref: false });
      }
    }
    if (event.id === null) return;
    this.#reached = event.id;
    if (++this.#sinceStored >= webhookLimits.positionEvery) await this.#storePositions().catch(this.#parts.onError);
  }

  async #enqueued(webhook: Webhook, event: JournalEvent): Promise<boolean> {
    try {
      await this.#enqueue(webhook, event);
      return true;
    } catch (error) {
      this.#parts.onError(error);
      return event.id === null; // what is not stored is not tried again
    }
  }

  async #enqueue(webhook: Webhook, event: JournalEvent): Promise<void> {
    if ((this.#pending.get(webhook.id) ?? 0) >= webhookLimits.pending) {
      this.#recordFailed(webhook, event.type, `${webhookLimits.pending} deliveries wait already`);
      return;
    }
    const { webhooks, batch } = this.#parts;
    const now = this.#clock.wallMs();
    const within = batch();
    await webhooks.enqueue(
      {
        id: `msg_${randomUUID()}`,
        webhookId: webhook.id,
        namespace: webhook.namespace,
        type: event.type as FeedType,
        body: JSON.stringify(event),
        createdAtMs: now,
        attempts: 0,
        state: "pending",
        dueAtMs: now,
        lastError: null,
      },
      within,
    );
    if (event.id !== null) await webhooks.reached(webhook.id, event.id, within);
    await within.commit();
    if (event.id !== null) webhook.position = event.id;
    this.#count(webhook.id, 1);
    this.#look();
  }

  /** Of webhooks that got none of the last events: they need not be read again. */
  async #storePositions(): Promise<void> {
    this.#sinceStored = 0;
    for (const webhook of this.#webhooks.values()) {
      if (webhook.position >= this.#reached) continue;
      await this.#parts.webhooks.reached(webhook.id, this.#reached);
      webhook.position = this.#reached;
    }
  }

  #count(webhookId: string, change: number): void {
    if (this.#webhooks.has(webhookId)) this.#pending.set(webhookId, (this.#pending.get(webhookId) ?? 0) + change);
  }

  /** Starts what is due, and comes back when the next one is. */
  #look(): void {
    if (this.#closed) return;
    if (this.#looking !== undefined) {
      this.#lookAgain = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#looking = this.#startDue()
      .catch(this.#parts.onError)
      .finally(() => {
        this.#looking = undefined;
        if (!this.#lookAgain) return;
        this.#lookAgain = false;
        this.#look();
      });
  }

  async #startDue(): Promise<void> {
    const earliest = await this.#parts.webhooks.due(webhookLimits.concurrent * 2);
    for (const delivery of earliest) {
      if (this.#underWay.has(delivery.id)) continue;
      const waitMs = delivery.dueAtMs - this.#clock.wallMs();
      if (this.#underWay.size >= webhookLimits.concurrent || this.#closed) return; // whoever ends looks again
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#look(), Math.min(waitMs, webhookLimits.lookMs));
        this.#timer.unref();
        return;
      }
      const tried = this.#try(delivery)
        .catch(this.#parts.onError)
        .finally(() => {
          this.#underWay.delete(delivery.id);
          this.#look();
        });
      this.#underWay.set(delivery.id, tried);
    }
  }

  async #try(delivery: Delivery): Promise<void> {
    const webhook = this.#webhooks.get(delivery.webhookId);
    if (webhook === undefined) return this.#parts.webhooks.settle(delivery.id, { state: "dead" });
    const failure = await this.#send(webhook, delivery);
    if (failure === undefined) {
      return this.#settle(delivery, { state: "delivered", attempts: delivery.attempts + 1, lastError: null });
    }
    const waitMs = failure.final ? undefined : this.#waitsMs[delivery.attempts];
    const attempts = delivery.attempts + 1;
    if (waitMs !== undefined) {
      const dueAtMs = this.#clock.wallMs() + waitMs;
      return this.#parts.webhooks.settle(delivery.id, { attempts, dueAtMs, lastError: failure.why });
    }
    await this.#settle(delivery, { state: "dead", attempts, lastError: failure.why });
    this.#recordFailed(webhook, delivery.type, failure.why);
  }

  async #settle(delivery: Delivery, changes: Pick<Delivery, "state" | "attempts" | "lastError">): Promise<void> {
    await this.#parts.webhooks.settle(delivery.id, changes);
    this.#count(delivery.webhookId, -1);
    if (++this.#settled % webhookLimits.pruneEvery === 0) await this.#parts.webhooks.prune(webhookLimits.settled);
  }

  async #send(webhook: Webhook, { id, body }: Delivery): Promise<{ why: string; final: boolean } | undefined> {
    try {
      const headers = signedHeaders(webhook.secret, id, this.#clock.wallMs(), body);
      const answer = await this.#parts.dialer.post({
        url: webhook.url,
        headers,
        body,
        timeoutMs: webhookLimits.timeoutMs,
      });
      if (answer.status >= 200 && answer.status < 300) return undefined;
      return { why: `answered ${answer.status}`, final: answer.status === 410 }; // 410: it wants no more
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { why: error.message, final: error.code === "forbidden" || error.code === "invalid" };
    }
  }

  /** Not sent to webhooks, or one that fails would feed itself. */
  #recordFailed({ id, namespace }: Webhook, type: JournalEvent["type"], reason: string): void {
    const { journal, onError } = this.#parts;
    const data = { webhook_id: id, type, reason };
    journal.record({ type: "webhook.failed", by: "system", namespace, data }).catch(onError);
  }

  /** What is under way is waited for; what waits stays in the store. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#reader[Symbol.dispose]();
    await this.#reading;
    await this.#storePositions().catch(this.#parts.onError);
    await this.#looking;
    await Promise.all(this.#underWay.values());
  }
}

function wants({ namespace, types, position }: Webhook, event: JournalEvent): boolean {
  if (event.type === "webhook.failed" || namespace !== event.namespace) return false;
  if (event.id !== null && event.id <= position) return false;
  return types.length === 0 || types.includes(event.type as FeedType);
}
