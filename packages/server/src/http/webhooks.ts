import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Delivery, Webhook, Webhooks } from "../core/webhook.ts";
import { checkOutboundUrl } from "../egress/dialer.ts";
import { feedTypes } from "../journal/event-row.ts";
import { dialLimits } from "../webhooks/limits.ts";
import type { WebhookSender } from "../webhooks/webhook-sender.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/webhooks";
const tag = "webhooks";

const webhook = z
  .object({
    id: z.string(),
    namespace: z.string(),
    url: z.string(),
    types: z.array(z.enum(feedTypes)).describe("event types to send; empty: all"),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "Webhook" });

const delivery = z
  .object({
    id: z.string().describe("sent to the receiver in the webhook-id header"),
    type: z.enum(feedTypes),
    state: z.enum(["pending", "delivered", "dead"]),
    attempts: z.number().int(),
    created_at: z.iso.datetime(),
    due_at: z.iso.datetime(),
    last_error: z.string().nullable(),
  })
  .meta({ id: "WebhookDelivery" });

const createBody = z
  .strictObject({
    url: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).max(dialLimits.urlCharacters),
    types: z.array(z.enum(feedTypes)).max(feedTypes.length).optional(),
  })
  .meta({ id: "CreateWebhook" });

const id = z.string().min(1).max(64);
const webhookId = z.strictObject({ id });
const time = (ms: number) => new Date(ms).toISOString();

function show({ id, namespace, url, types, createdAtMs }: Webhook): z.output<typeof webhook> {
  return { id, namespace, url, types: [...types], created_at: time(createdAtMs) };
}

function showDelivery(one: Delivery): z.output<typeof delivery> {
  return {
    id: one.id,
    type: one.type,
    state: one.state,
    attempts: one.attempts,
    created_at: time(one.createdAtMs),
    due_at: time(one.dueAtMs),
    last_error: one.lastError,
  };
}

export function webhookRoutes(webhooks: Webhooks, sender: WebhookSender): Route[] {
  const find = async (namespace: string, id: string): Promise<Webhook> => {
    const found = await webhooks.get(id);
    if (found?.namespace !== namespace)
      throw new AppError("not_found", `unknown webhook ${id}`, {
        hint: "caisson webhook list lists webhooks",
      });
    return found;
  };
  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Creates a webhook; only this response contains its signing secret",
      scope: "operate",
      audit: ["webhook.created"],
      body: createBody,
      responses: {
        201: { description: "the webhook with its signing secret", schema: webhook.extend({ secret: z.string() }) },
      },
      handler: async ({ caller, body, record }) => {
        const url = checkOutboundUrl(body.url).href;
        const made = await sender.add(caller.principal.namespace, url, body.types ?? []);
        record({ type: "webhook.created", data: { webhook_id: made.id, host: new URL(url).host } });
        return { status: 201, json: { ...show(made), secret: made.secret } };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists webhooks, without their secrets",
      scope: "operate",
      audit: null,
      responses: { 200: { description: "all webhooks of the namespace", schema: z.array(webhook) } },
      handler: async ({ caller }) => ({
        status: 200,
        json: (await webhooks.list(caller.principal.namespace)).map(show),
      }),
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/{id}`,
      tag,
      summary: "Deletes a webhook and its pending deliveries",
      scope: "operate",
      audit: ["webhook.deleted"],
      params: webhookId,
      responses: { 204: { description: "the webhook is deleted" } },
      handler: async ({ caller, params, record }) => {
        const { id } = await find(caller.principal.namespace, params.id);
        await sender.remove(id);
        record({ type: "webhook.deleted", data: { webhook_id: id } });
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{id}/deliveries`,
      tag,
      summary: "Lists the deliveries of a webhook, newest first; dead deliveries are not retried",
      scope: "operate",
      audit: null,
      params: webhookId,
      query: z.strictObject({ state: z.enum(["pending", "delivered", "dead"]).optional() }),
      responses: { 200: { description: "the deliveries on record", schema: z.array(delivery) } },
      handler: async ({ caller, params, query }) => {
        const { id } = await find(caller.principal.namespace, params.id);
        return { status: 200, json: (await webhooks.deliveries(id, query.state)).map(showDelivery) };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${path}/{id}/deliveries/{delivery}/retry`,
      tag,
      summary: "Retries a dead delivery",
      scope: "operate",
      audit: ["webhook.retried"],
      params: z.strictObject({ id, delivery: id }),
      responses: { 204: { description: "the delivery is retried" } },
      handler: async ({ caller, params, record }) => {
        const owner = await find(caller.principal.namespace, params.id);
        const found = await webhooks.getDelivery(params.delivery);
        if (found?.webhookId !== owner.id)
          throw new AppError("not_found", `webhook ${owner.id} has no delivery ${params.delivery}`);
        await sender.retry(found);
        record({ type: "webhook.retried", data: { webhook_id: owner.id, delivery_id: found.id } });
        return { status: 204 };
      },
    }),
  ];
}
