import { ApiError, type Caisson, type SandboxInfo } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { showSeconds } from "../../core/size.ts";
import { defined } from "../../lib/defined.ts";
import { visible } from "../terminal.ts";
import { writeOut } from "../write-out.ts";
import { limitOptions, megabytes } from "./limit-options.ts";
import { tellJson, tellTable, tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { quietVerb, tableVerb } from "./verb-kinds.ts";

const queue: Verb = {
  summary: "show the queue of runs and cold starts",
  usage: "",
  words: [0, 0],
  run: async ({ caisson, io, json }) => {
    const found = await caisson.queue();
    if (json) return tellJson(io, found);
    const { running, waiting, max_concurrent, max_waiting } = found;
    tellTable(
      io,
      ["RUNNING", "WAITING", "MAX RUNNING", "MAX WAITING"],
      [[running, waiting, max_concurrent, max_waiting]],
    );
    if (found.jobs.length === 0) return 0;
    const rows = found.jobs.map((one) => [
      ...[one.position, one.id, one.kind, one.sandbox_id ?? "-", one.priority],
      showSeconds(one.waiting_ms),
    ]);
    io.stdout.write("\n");
    return tellTable(io, ["PLACE", "JOB", "KIND", "SANDBOX", "PRIORITY", "WAITING"], rows);
  },
};

const queueCancel = quietVerb("cancel a waiting job", "JOB", ({ caisson }, id) => caisson.cancelJob(id));

const pool = tableVerb({
  summary: "show the pools of sandboxes that are started in advance",
  call: ({ caisson }) => caisson.pools(),
  headings: ["IMAGE", "ENGINE", "SIZE", "READY", "STARTING", "HITS", "MISSES"],
  rows: (found) => found.map((one) => [one.image, one.engine, one.size, one.ready, one.starting, one.hits, one.misses]),
});

const stats: Verb = {
  summary: "show statistics of the daemon, or of one sandbox",
  usage: "[SANDBOX]",
  words: [0, 1],
  run: async ({ caisson, words, io, json }) => {
    const [id] = words;
    const found = id === undefined ? await daemonStats(caisson) : await (await caisson.getSandbox(id)).stats();
    if (json) return tellJson(io, found);
    const rows = Object.entries(found).flatMap(([name, value]) =>
      typeof value === "object" && value !== null
        ? Object.entries(value).map(([state, count]) => [name === "sandboxes" ? state : `${name} ${state}`, count])
        : [[name, value]],
    );
    return tellTable(io, ["NAME", "VALUE"], rows);
  },
};

/** Statistics of the daemon and of the caller's sandboxes. */
async function daemonStats(caisson: Caisson): Promise<object> {
  const [own, { result }] = await Promise.all([caisson.stats(), caisson.tools.call("sandbox_stats")]);
  return { ...own, ...result };
}

const limits: Verb = {
  summary: "show request limits, or change a session's limits",
  usage: "[SESSION]",
  about: "With an option, changes the limits of SESSION (default: the session `default`).",
  words: [0, 1],
  options: {
    ...limitOptions,
    timeout: { type: "string", value: "SECONDS", help: "timeout of the session's runs that set none" },
  },
  run: async ({ caisson, words, options, io, json }) => {
    const asked = defined({
      memory_mb: megabytes(options, "memory"),
      cpus: options.number("cpus"),
      max_processes: options.number("processes"),
      timeout_seconds: options.number("timeout"),
    });
    if (words.length > 0 || Object.keys(asked).length > 0) {
      const { result } = await caisson.tools.call("set_resource_limits", {
        ...asked,
        ...defined({ session_id: words[0] }),
      });
      return json ? tellJson(io, result) : tellTable(io, ["LIMIT", "VALUE"], Object.entries(result));
    }
    const found = await caisson.limits();
    if (json) return tellJson(io, found);
    const rows = Object.entries(found).map(([name, range]) => [name, range.default, range.min, range.max]);
    return tellTable(io, ["LIMIT", "DEFAULT", "MIN", "MAX"], rows);
  },
};

const sessionList = tableVerb({
  summary: "list sessions and their sandboxes",
  call: async ({ caisson }) => {
    const found: SandboxInfo[] = [];
    for await (const { info } of caisson.listSandboxes()) if (info.session_key !== null) found.push(info);
    return found;
  },
  headings: ["SESSION", "SANDBOX", "STATUS", "LAST USED"],
  rows: (found) => found.map((info) => [info.session_key, info.id, info.status, tellTime(info.last_used_at)]),
});

const sessionRemove: Verb = {
  summary: "destroy a session's sandbox",
  usage: "--id SESSION",
  words: [0, 1],
  options: { id: { type: "string", value: "SESSION", help: "session key" } },
  run: async ({ caisson, options, words, io, json }) => {
    const session_id = options.text("id") ?? words[0];
    if (session_id === undefined)
      throw new AppError("invalid", "missing SESSION", { hint: "caisson session rm --id SESSION" });
    try {
      const { result } = await caisson.tools.call("terminate_session", { session_id });
      return json ? tellJson(io, result) : 0;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "not_found") throw error;
      io.stderr.write(`caisson: unknown session '${visible(session_id)}'\n`);
      return 1;
    }
  },
};

const events: Verb = {
  summary: "print events as they happen, one per line, until Ctrl-C",
  usage: "",
  words: [0, 0],
  options: {
    type: { type: "string", multiple: true, value: "TYPE", help: "only events of this type" },
    sandbox: { type: "string", value: "ID", help: "only events of this sandbox" },
    after: { type: "string", value: "N", help: "continue after the event with this number" },
  },
  run: async ({ caisson, options, io, json }) => {
    const types = options.texts("type");
    const asked = defined({
      types: types.length === 0 ? undefined : types,
      sandbox_id: options.text("sandbox"),
      after: options.number("after"),
    });
    for await (const event of caisson.events(asked)) {
      const { type, at, sandbox_id, data } = event;
      const text = json
        ? JSON.stringify(event)
        : `${tellTime(at)}  ${type.padEnd(20)}  ${(sandbox_id ?? "-").padEnd(16)}  ${JSON.stringify(data ?? {})}`;
      if (!(await writeOut(io.stdout, `${text}\n`))) break;
    }
    return 0;
  },
};

export const daemonVerbs: Record<string, Verb> = {
  "queue status": queue,
  "queue cancel": queueCancel,
  pool,
  stats,
  limits,
  "session list": sessionList,
  "session rm": sessionRemove,
  events,
};
