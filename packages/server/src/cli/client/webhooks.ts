import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import { quiet, type Verb } from "./verb.ts";

const create: Verb = {
  summary: "create a webhook and print its id and signing secret (shown only once)",
  usage: "URL",
  words: [1, 1],
  options: { type: { type: "string", multiple: true, value: "TYPE", help: "only events of this type" } },
  run: async ({ caisson, options, words, io, json }) => {
    const types = options.texts("type");
    const made = await caisson.webhooks.create(words[0] ?? "", types.length === 0 ? undefined : types);
    return json ? tellJson(io, made) : tellLine(io, `${made.id} ${made.secret}`);
  },
};

const list: Verb = {
  summary: "list webhooks",
  usage: "",
  words: [0, 0],
  run: async ({ caisson, io, json }) => {
    const found = await caisson.webhooks.list();
    if (json) return tellJson(io, found);
    const rows = found.map(({ id, created_at, types, url }) => [
      id,
      tellTime(created_at),
      types.join(",") || "all",
      url,
    ]);
    return tellTable(io, ["ID", "CREATED", "TYPES", "URL"], rows);
  },
};

const remove = quiet("delete a webhook", ["ID"], ({ caisson }, id) => caisson.webhooks.delete(id));

const deliveries: Verb = {
  summary: "list the deliveries of a webhook and their errors",
  usage: "ID",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const found = await caisson.webhooks.deliveries(words[0] ?? "");
    if (json) return tellJson(io, found);
    const rows = found.map((one) => [one.id, one.state, one.attempts, one.type, one.last_error]);
    return tellTable(io, ["ID", "STATE", "TRIES", "TYPE", "ERROR"], rows);
  },
};

const retry = quiet("retry a failed delivery", ["ID", "DELIVERY"], ({ caisson }, id, delivery) =>
  caisson.webhooks.retry(id, delivery),
);

export const webhookVerbs: Record<string, Verb> = {
  "webhook create": create,
  "webhook list": list,
  "webhook rm": remove,
  "webhook deliveries": deliveries,
  "webhook retry": retry,
};
