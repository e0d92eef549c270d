/** From a request that was let in to a program in a sandbox, and back without what must not leave (NET-14). */
import type { IncomingMessage } from "node:http";
import { type Duplex, pipeline, type Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { AppError, messageOf } from "../core/errors.ts";
import type { Tunnel } from "../core/tunnel.ts";
import { CleanBytes } from "../dlp/clean-bytes.ts";
import { CleanFrames } from "../dlp/clean-frames.ts";
import { type Ask, ask, askUpgrade, upgradeFields } from "../http-over/ask.ts";
import { forwardable, requestFraming } from "../http-over/fields.ts";
import { formatHead } from "../http-over/head.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { portLimits } from "./limits.ts";

export interface PortRequest {
  port: number;
  method: string;
  /** With its query. */
  path: string;
  /** Names and values in turn, as the client sent them. */
  raw: readonly string[];
  /** Fields that are the daemon's own business, in lower case. */
  leaveOut: readonly string[];
  /** Fields of its own about the client. */
  added: readonly string[];
}

/** Without the words of its status, which are the program's own and mean nothing (RFC 9112, 4). */
export interface PortResponse {
  status: number;
  headers: string[];
  body: Readable;
}

/** A program that has agreed to a WebSocket. */
export interface PortSocket {
  head: string;
  tunnel: Tunnel;
}

/** A client's word about who it is counts for nothing. */
const ofForwarding = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "expect"];

/** Opens a connection to the port and prepares the request for it. */
async function reach(
  sandbox: Sandbox,
  request: PortRequest,
  framing: string[],
): Promise<{ tunnel: Tunnel; asked: Ask }> {
  const { port, method, path, raw, leaveOut, added } = request;
  const { headBytes, answerMs } = portLimits;
  const tunnel = await sandbox.wire.tunnels.dial(port);
  tunnel.on("error", () => undefined);
  const fields = [...forwardable(raw, [...leaveOut, ...ofForwarding]), ...added, ...framing];
  return { tunnel, asked: { method, path, fields, headBytes, answerMs, peer: `port ${port} of the sandbox` } };
}

function explain(error: unknown, { peer }: Ask): AppError {
  if (error instanceof AppError) return error;
  return new AppError("unavailable", `${peer} gave no answer: ${messageOf(error)}`, { cause: error });
}

function answerOf(sandbox: Sandbox, answer: IncomingMessage, tunnel: Tunnel): PortResponse {
  const body = new CleanBytes(sandbox.redactor);
  pipeline(answer, body, () => tunnel.destroy());
  const headers = sandbox.redactor.value(forwardable(answer.rawHeaders));
  return { status: answer.statusCode ?? 502, headers, body };
}

export async function askPort(sandbox: Sandbox, request: PortRequest, body?: Readable): Promise<PortResponse> {
  const { tunnel, asked } = await reach(sandbox, request, requestFraming(request.method, request.raw));
  try {
    return answerOf(sandbox, await ask(tunnel, asked, { body }), tunnel);
  } catch (error) {
    tunnel.destroy();
    throw explain(error, asked);
  }
}

/** Asks for a WebSocket; what a program answers that wants none is an answer. */
export async function askSocket(sandbox: Sandbox, request: PortRequest): Promise<PortSocket | PortResponse> {
  // Sent without a body: none may be announced. What is compressed could not be looked through, now or once a value is hidden.
  const leaveOut = [...request.leaveOut, "sec-websocket-extensions", "content-length"];
  const { tunnel, asked } = await reach(sandbox, { ...request, leaveOut }, []);
  try {
    const { answer, isUpgraded } = await askUpgrade(tunnel, asked);
    if (!isUpgraded) return answerOf(sandbox, answer, tunnel);
    const fields = [...sandbox.redactor.value(forwardable(answer.rawHeaders)), ...upgradeFields];
    return { head: formatHead(101, "Switching Protocols", fields), tunnel };
  } catch (error) {
    tunnel.destroy();
    throw explain(error, asked);
  }
}

/** Both ways until one of them ends. */
export async function joinSocket(sandbox: Sandbox, client: Duplex, { head, tunnel }: PortSocket): Promise<void> {
  client.write(head);
  pipeline(tunnel, new CleanFrames(sandbox.redactor), client, () => tunnel.destroy());
  pipeline(client, tunnel, () => client.destroy());
  await finished(client, { readable: false }).catch(() => undefined); // whoever it was is gone
}
