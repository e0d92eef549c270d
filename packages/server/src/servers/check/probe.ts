/** Finds out how a version is spoken to: over HTTP or standard streams, and in which revision of the protocol. */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, messageOf } from "../../core/errors.ts";
import type { ServerContact } from "../../core/server.ts";
import { abortable } from "../abortable.ts";
import { serverLimits } from "../limits.ts";
import { ender, hostOf, inputOf, listens, ProgramOutput } from "../program.ts";
import type { RunningSandbox } from "../server-sandboxes.ts";
import { countTools, greet } from "./greet.ts";
import { HttpPeer } from "./http-peer.ts";
import type { Peer } from "./peer.ts";
import { StdioPeer } from "./stdio-peer.ts";

export interface ProbeOptions {
  command: readonly string[];
  port: number;
  log: (piece: Buffer) => Promise<void>;
  signal: AbortSignal;
}

const paths = ["/mcp", "/"];

/** Starts the program and ends it again. An HTTP server that answers at its port goes before standard streams. */
export async function probe(
  sandbox: RunningSandbox,
  { command, port, log, signal }: ProbeOptions,
): Promise<ServerContact> {
  const output = new ProgramOutput();
  const program = await sandbox.run({ command, hasInput: true, logsStdout: true, log, stdout: output.take });
  const over = new AbortController();
  const late = AbortSignal.timeout(serverLimits.startMs);
  void program.ended.then((why) => {
    over.abort(new AppError("invalid", `the program ended before it answered: ${why}`, { hint: logHint }));
    output.close();
  });
  const mute = new AbortController();
  const any = AbortSignal.any([signal, over.signal, mute.signal, late]);
  const stdio = new StdioPeer(inputOf(program), output.readable);
  try {
    /** The other way may yet answer; then this error is the check's. */
    const giveUp = async (error: unknown) => {
      await sleep(serverLimits.graceMs, undefined, { signal: any }).catch(() => undefined);
      mute.abort(error);
      throw error;
    };
    const spoken = talk(stdio, { transport: "stdio", path: "" }).catch((error: unknown) => {
      if (isAnswer(error)) return giveUp(error);
      throw error; // a server over HTTP may say anything there, or nothing
    });
    const served = awaitHttp(sandbox, port, any).catch(giveUp);
    // A line that looks like an answer does not keep an HTTP server from being found, and a port without MCP no stdio server.
    return await abortable(Promise.any([served, afterAWhile(spoken, served)]), any);
  } catch (error) {
    signal.throwIfAborted();
    over.signal.throwIfAborted();
    mute.signal.throwIfAborted();
    throw why(error, late.aborted, port);
  } finally {
    over.abort();
    await ender(program)();
    await stdio[Symbol.asyncDispose]();
  }
}

const logHint = "the server's log has its output: caisson servers logs SERVER";

async function talk(peer: Peer, way: Pick<ServerContact, "transport" | "path">): Promise<ServerContact> {
  const greeting = await greet(peer);
  return { ...way, ...greeting, tools: await countTools(peer, greeting) };
}

/** A program that answers on standard output may still be about to listen. */
async function afterAWhile(spoken: Promise<ServerContact>, served: Promise<ServerContact>): Promise<ServerContact> {
  const contact = await spoken;
  await Promise.race([sleep(serverLimits.portLookMs * 4), served.catch(() => undefined)]);
  return contact;
}

async function awaitHttp(sandbox: RunningSandbox, port: number, signal: AbortSignal): Promise<ServerContact> {
  while (!(await listens(sandbox, port))) await sleep(serverLimits.portLookMs, undefined, { signal });
  const failures: string[] = [];
  for (const path of paths) {
    try {
      return await talk(new HttpPeer(() => sandbox.dial(port), hostOf(port), path), { transport: "http", path });
    } catch (error) {
      signal.throwIfAborted();
      failures.push(`${path}: ${messageOf(error)}`);
    }
  }
  throw new AppError("invalid", `the server on port ${port} does not answer initialize (${failures.join("; ")})`, {
    hint: logHint,
  });
}

/** True if the program answered, and wrongly. */
function isAnswer(error: unknown): boolean {
  return error instanceof AppError && (error.code === "invalid" || error.code === "too_large");
}

function why(error: unknown, isLate: boolean, port: number): unknown {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  if (!isLate) return first;
  return new AppError("timeout", `the server does not answer initialize after ${serverLimits.startMs / 1_000} s`, {
    hint: `it must listen on 0.0.0.0:${port}, or speak MCP over standard input and output`,
    cause: first,
  });
}
