import { z } from "zod";
import type { Fleet } from "../core/fleet.ts";
import type { SearchMatch } from "../core/search.ts";
import { defined } from "../lib/defined.ts";
import { searchLimits } from "../sandboxes/limits.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { searchMatch } from "../schemas/file.ts";
import { filePath, plainText, sandboxId } from "../schemas/sandbox.ts";
import { written, writtenFlag } from "../schemas/written.ts";
import { httpLimits } from "./limits.ts";
import { streamed, streamFormat } from "./live-stream.ts";
import { defineRoute, type Route } from "./route.ts";
import { anyOf, message } from "./stream-messages.ts";

const tag = "files";

const path = z.string().describe("relative to the watched folder");
const fileEvents = anyOf("FileMessage", [
  message("WatchingMessage", "watching", {}, "the watch has begun: later changes are reported"),
  message("FileEventMessage", ["created", "changed", "deleted"], { path }),
  message("FileMovedMessage", "moved", { path, from: z.string().optional().describe("previous path") }),
  message("OverflowMessage", "overflow", { path }, "changes were lost: list the folder again"),
]);

export function searchRoutes(fleet: Fleet<Sandbox>): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/api/v1/sandboxes/{id}/search",
      tag,
      summary: "Searches files by name and content",
      scope: "read",
      audit: ["file.read"],
      params: sandboxId,
      query: z.strictObject({
        path: filePath.optional(),
        name: plainText.min(1).max(1024).optional().describe("file name pattern (default: all names)"),
        text: z.string().min(1).max(searchLimits.textBytes).optional(),
        ignore_case: writtenFlag.optional(),
        binary: writtenFlag.optional(),
        limit: written(z.number().int().min(1).max(httpLimits.searchMatches)).optional(),
      }),
      responses: {
        200: {
          description: "the matches",
          schema: z.object({ matches: z.array(searchMatch), files_read: z.number(), truncated: z.boolean() }),
        },
      },
      handler: async ({ caller, params, query, record }) => {
        const { path = "/workspace", text, ignore_case: ignoreCase, binary, limit } = query;
        const name = query.name ?? (text === undefined ? "*" : undefined);
        const found = await fleet.use(caller, params.id, async (sandbox) => {
          const told = sandbox.files.search(path, defined({ name, text, ignoreCase, binary, limit }));
          const matches: SearchMatch[] = [];
          for await (const one of told) matches.push(one);
          return { matches, files_read: told.summary?.filesRead ?? 0, truncated: told.summary?.truncated ?? true };
        });
        const data = { path, kind: "search", files: found.files_read } as const;
        if (text !== undefined) record({ type: "file.read", sandboxId: params.id, data });
        return { status: 200, json: found };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/api/v1/sandboxes/{id}/watch",
      tag,
      summary: "Streams changes of files; the sandbox counts as in use meanwhile",
      scope: "read",
      audit: null,
      params: sandboxId,
      query: z.strictObject({ path: filePath.optional(), recursive: writtenFlag.optional() }),
      responses: { 200: { description: "changes as they happen", messages: fileEvents } },
      handler: (call) => {
        const { caller, params, query, request } = call;
        return streamed(call, streamFormat(request.headers.accept) ?? "sse", (begin) =>
          fleet.use(caller, params.id, async (sandbox) => {
            await using watch = await sandbox.files.watch(query.path ?? "", defined({ recursive: query.recursive }));
            const live = begin();
            const stop = () => void watch[Symbol.asyncDispose]();
            live.gone.addEventListener("abort", stop, { once: true });
            if (live.gone.aborted) return;
            live.send("watching", {});
            for await (const { type, ...event } of watch) {
              await live.send(type, event);
              if (live.gone.aborted) break;
            }
          }),
        );
      },
    }),
  ];
}
