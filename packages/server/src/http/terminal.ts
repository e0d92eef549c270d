import { z } from "zod";
import { toCommand } from "../core/command.ts";
import type { Fleet } from "../core/fleet.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { terminalLimits } from "../core/limits.ts";
import { parseJson } from "../core/parse-json.ts";
import type { Principal } from "../core/principal.ts";
import type { OneTimeTokens } from "../identity/one-time-tokens.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { terminalSize } from "../schemas/process.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { written } from "../schemas/written.ts";
import { HttpError } from "./problem.ts";
import { type Call, defineRoute, type Route } from "./route.ts";

const tag = "terminal";
const path = "/api/v1/sandboxes/{id}/terminal";
const { rows, columns } = terminalLimits;

/** Good for one WebSocket of one sandbox. */
export interface Ticket {
  principal: Principal;
  path: string;
}

const query = z.strictObject({
  ticket: z.string().max(128).optional().describe("replaces the API key, for browsers"),
  rows: written(z.number().int().min(rows.min).max(rows.max)).default(rows.default),
  columns: written(z.number().int().min(columns.min).max(columns.max)).default(columns.default),
  command: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe("command line for the shell (default: an interactive shell)"),
});

const message = z.discriminatedUnion("type", [
  terminalSize.extend({ type: z.literal("resize") }),
  z.strictObject({ type: z.literal("signal"), signal: z.number().int().min(1).max(64) }),
]);

type Socket = import("ws").WebSocket;

/** PTY over WebSocket (API-04): binary messages are what is typed and shown, text messages are JSON about the terminal. */
export function terminalRoutes(fleet: Fleet<Sandbox>, tickets: OneTimeTokens<Ticket>): Route[] {
  return [
    defineRoute({
      method: "POST",
      path: `${path}/ticket`,
      tag,
      summary: "Creates a ticket that opens one terminal, for clients that cannot send headers",
      scope: "use",
      audit: ["terminal.ticket"],
      params: sandboxId,
      responses: {
        201: {
          description: "the ticket; it works once and expires soon",
          schema: z.object({ ticket: z.string(), expires_at: z.iso.datetime() }),
        },
      },
      handler: async ({ caller, params, record }) => {
        await fleet.get(caller, params.id);
        const opens = path.replace("{id}", params.id);
        const { token, expiresAtMs } = tickets.issue({ principal: caller.principal, path: opens });
        record({ type: "terminal.ticket", sandboxId: params.id, data: {} });
        return { status: 201, json: { ticket: token, expires_at: new Date(expiresAtMs).toISOString() } };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Opens a terminal over a WebSocket",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      query,
      problems: [426],
      responses: { 101: { description: "the terminal" } },
      handler: async () => {
        throw new HttpError(426, "invalid", "this takes a WebSocket", { headers: { upgrade: "websocket" } });
      },
      socket: (call, socket) => serve(fleet, call, socket),
    }),
  ];
}

type TerminalCall = Call<z.output<typeof sandboxId>, z.output<typeof query>, unknown>;

async function serve(fleet: Fleet<Sandbox>, call: TerminalCall, socket: Socket): Promise<void> {
  const release = call.openStream();
  socket.pause(); // nothing is read before there is somebody to type to
  try {
    const { rows, columns, command: line = "exec bash -l" } = call.query;
    const closed = new AbortController();
    socket.once("close", () => closed.abort());
    const command = toCommand({
      what: { line },
      as: "terminal",
      terminal: { rows, columns },
      limits: { timeoutMs: 0 },
      env: { TERM: "xterm-256color" },
    });
    const options = { streams: true, signal: closed.signal };
    const result = await fleet.run(call.caller, call.params.id, command, options, async (sandbox) => {
      const run = await sandbox.start({
        trackFiles: false,
        signal: closed.signal,
        onOutput: (_, chunk) => show(socket, chunk),
      });
      const typed = new Typed(socket, (data) => run.write(data));
      socket.on("message", (data: Buffer, isBinary) => {
        if (isBinary) return typed.add(data);
        const told = message.safeParse(readMessage(data));
        if (!told.success) return socket.close(1007, "not a message of a terminal");
        if (told.data.type === "resize") run.resize(told.data);
        else run.signal(told.data.signal);
      });
      socket.resume();
      return run.result;
    });
    const { run_id, exit_code, signal, duration_ms } = result;
    socket.send(JSON.stringify({ type: "exit", run_id, exit_code, signal, duration_ms }));
  } finally {
    release();
  }
}

/** Resolves when it has left: a client that does not read holds its program up. */
function show(socket: Socket, chunk: Buffer): Promise<void> | undefined {
  if (socket.readyState !== socket.OPEN) return undefined;
  return new Promise((resolve) => socket.send(Buffer.from(chunk), () => resolve()));
}

function readMessage(data: Buffer): unknown {
  try {
    return parseJson(data, jsonLimits.terminal);
  } catch {
    return undefined;
  }
}

/** What is typed, in order. The client is not read from while the program does not read. */
class Typed {
  readonly #socket: Socket;
  readonly #write: (data: Buffer) => Promise<boolean>;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(socket: Socket, write: (data: Buffer) => Promise<boolean>) {
    this.#socket = socket;
    this.#write = write;
  }

  add(data: Buffer): void {
    this.#waiting++;
    this.#socket.pause();
    this.#last = this.#last
      .then(() => this.#write(data))
      .catch(() => this.#socket.close(1011))
      .finally(() => {
        if (--this.#waiting === 0) this.#socket.resume();
      });
  }
}
