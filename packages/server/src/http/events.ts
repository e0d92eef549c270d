import { z } from "zod";
import { events } from "../core/events.ts";
import type { EventFilter, FeedType, Journal, JournalEvent, LagEvent } from "../core/journal.ts";
import { feedTypes } from "../journal/event-row.ts";
import { defined } from "../lib/defined.ts";
import { listOf, written, writtenFlag } from "../schemas/written.ts";
import { lineOf, type StreamFormat, streamed, streamFormat } from "./live-stream.ts";
import { type Call, defineRoute, type Route } from "./route.ts";
import { anyOf, message } from "./stream-messages.ts";
import { visibleNamespace } from "./visible-namespace.ts";

const query = z.strictObject({
  types: listOf(z.enum(feedTypes)).optional().describe("only events of these types"),
  sandbox_id: z.string().max(64).optional(),
  after: written(z.number().int().min(0))
    .optional()
    .describe("continue after the event with this id, as Last-Event-ID does"),
  all_namespaces: writtenFlag.optional().describe("events of all namespaces (administrators only)"),
});

const id = z
  .number()
  .int()
  .nullable()
  .describe("position in the audit log, which increases across restarts; null for events that are not stored");
const at = z.iso.datetime();
const about = { id, at, namespace: z.string(), sandbox_id: z.string().nullable(), run_id: z.string().nullable() };

/** `sandbox.created` as `SandboxCreatedEvent`. */
const nameOf = (type: FeedType) => `${type.replace(/(?:^|\.)./g, (word) => word.slice(-1).toUpperCase())}Event`;
const messages = anyOf("EventMessage", [
  ...feedTypes.map((type) => message(nameOf(type), type, { ...about, data: events[type].data })),
  message("EventsLagMessage", "events.lag", { id, at, dropped: z.number().int() }, "replaces missed events"),
]);

type EventCall = Call<undefined, z.output<typeof query>, undefined>;

function filterOf({ caller: { principal }, query: asked }: EventCall): EventFilter {
  return defined({
    namespace: visibleNamespace(principal, asked.all_namespaces),
    sandboxId: asked.sandbox_id,
    types: asked.types,
  });
}

function lastEventId(call: EventCall): number | undefined {
  const { "last-event-id": header } = call.request.headers;
  const given = typeof header === "string" && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
  return given ?? call.query.after;
}

/** Encoded forms of the newest events. */
const lines = new WeakMap<JournalEvent | LagEvent, Partial<Record<StreamFormat, Buffer>>>();

/** The same bytes for all who follow: thousands that do not read hold no copies. */
function sharedLine(event: JournalEvent | LagEvent, format: StreamFormat): Buffer {
  const known = lines.get(event) ?? {};
  const { type, ...shown } = event;
  known[format] ??= Buffer.from(lineOf(format, type, shown, event.id ?? undefined));
  lines.set(event, known);
  return known[format];
}

/** What happens, as it happens; a slow reader is told how much it missed (EVT-01). */
export function eventRoutes(journal: Journal): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/api/v1/events",
      tag: "events",
      summary: "Streams the events of the namespace",
      scope: "read",
      audit: null,
      query,
      responses: {
        200: {
          description: "one message per event; `events.lag` replaces events that a slow client missed",
          messages,
        },
      },
      handler: (call) => {
        const filter = filterOf(call);
        return streamed(call, streamFormat(call.request.headers.accept) ?? "sse", async (begin) => {
          using reader = journal.read(filter, lastEventId(call));
          const live = begin();
          live.gone.addEventListener("abort", () => void reader.return?.(), { once: true });
          if (live.gone.aborted) return;
          for await (const event of reader) await live.sendLine(sharedLine(event, live.format));
        });
      },
    }),
  ];
}
