import { tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { lineVerb, quietVerb, tableVerb } from "./verb-kinds.ts";

const create = lineVerb({
  summary: "create a webhook and print its id and signing secret (shown only once)",
  usage: "URL",
  options: { type: { type: "string", multiple: true, value: "TYPE", help: "only events of this type" } },
  call: ({ caisson, options }, url) => {
    const types = options.texts("type");
    return caisson.webhooks.create(url, types.length === 0 ? undefined : types);
  },
  line: ({ id, secret }) => `${id} ${secret}`,
});

const list = tableVerb({
  summary: "list webhooks",
  call: ({ caisson }) => caisson.webhooks.list(),
  headings: ["ID", "CREATED", "TYPES", "URL"],
  rows: (found) => found.map((one) => [one.id, tellTime(one.created_at), one.types.join(",") || "all", one.url]),
});

const remove = quietVerb("delete a webhook", "ID", ({ caisson }, id) => caisson.webhooks.delete(id));

const deliveries = tableVerb({
  summary: "list the deliveries of a webhook and their errors",
  usage: "ID",
  call: ({ caisson }, id) => caisson.webhooks.deliveries(id),
  headings: ["ID", "STATE", "TRIES", "TYPE", "ERROR"],
  rows: (found) => found.map((one) => [one.id, one.state, one.attempts, one.type, one.last_error]),
});

const retry = quietVerb("retry a failed delivery", "ID DELIVERY", ({ caisson }, id, delivery) =>
  caisson.webhooks.retry(id, delivery),
);

export const webhookVerbs: Record<string, Verb> = {
  "webhook create": create,
  "webhook list": list,
  "webhook rm": remove,
  "webhook deliveries": deliveries,
  "webhook retry": retry,
};
