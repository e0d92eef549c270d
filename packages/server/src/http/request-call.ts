import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../core/errors.ts";
import type { Happening, Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import type { TokenBuckets } from "../identity/token-bucket.ts";
import { contextOf } from "./context-of.ts";
import type { OpenStreams } from "./open-streams.ts";
import { parseRequest } from "./parse.ts";
import { report } from "./problem.ts";
import { bodyPieces } from "./request-body.ts";
import type { Call, Route } from "./route.ts";
import type { UnreadResponses } from "./unread-responses.ts";

export interface CallParts {
  journal: Recorder;
  buckets: TokenBuckets;
  streams: OpenStreams;
  unread: UnreadResponses;
  /** Told of errors that are nobody's fault outside. */
  onError: ((error: unknown) => void) | undefined;
}

/** Refuses past the rate of a key. */
export function spend({ buckets }: Pick<CallParts, "buckets">, { id }: Caller["principal"], count: number): void {
  const waitMs = buckets.take(id, count);
  if (waitMs > 0) throw new AppError("limit_exceeded", "too many requests with this key", { retryAfterMs: waitMs });
}

/** What a handler gets of a request. Handlers take it apart, so that its functions are its own; most never ask for the signal. */
export class RequestCall implements Call<unknown, unknown, unknown> {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly request: FastifyRequest;
  readonly requestId: string;
  readonly caller: Caller;
  readonly report: (error: unknown) => AppError;
  readonly record: (happening: Happening) => void;
  readonly recorded: () => Promise<void>;
  readonly countMore: (requests: number) => void;
  readonly mayAnswer: (bytes: number) => boolean;
  readonly openStream: () => () => void;
  readonly #gone: Gone;

  constructor(
    route: Route,
    request: FastifyRequest,
    reply: FastifyReply | undefined,
    caller: Caller | undefined,
    parts: CallParts,
  ) {
    if (route.scope !== null && caller === undefined)
      throw new AppError("unauthenticated", "the caller is not authenticated");
    const { "*": path, ...named } = request.params as Record<string, string>;
    const given = route.raw === undefined ? request.body : (bodyPieces(request.body) ?? request.body);
    const { params, query, body } = parseRequest(
      route,
      path === undefined ? named : { ...named, path },
      request.query,
      given,
    );
    this.params = params;
    this.query = query;
    this.body = body;
    this.request = request;
    this.requestId = request.id;
    this.#gone = new Gone(request, reply);
    this.caller = new LiveCaller(caller, this.#gone);
    const owner = caller?.principal.id ?? "";
    const writing: Promise<unknown>[] = [];
    this.report = (error) => report(error, parts.onError, contextOf(request));
    this.record = (happening) => {
      if (caller === undefined) return;
      const written = parts.journal.record({ ...happening, by: caller });
      written.catch(() => undefined); // whoever waits for it gets the error
      writing.push(written);
    };
    this.recorded = async () => {
      if (writing.length > 0) await Promise.all(writing.splice(0));
    };
    this.countMore = (requests) => spend(parts, (caller as Caller).principal, requests);
    this.mayAnswer = (bytes) => parts.unread.hasRoom(owner, bytes);
    this.openStream = () => parts.streams.open(owner, () => request.raw.socket.destroy());
  }

  get signal(): AbortSignal {
    return this.#gone.signal;
  }
}

/** Nobody's where a route is open to all: its handler does not know of it. */
class LiveCaller implements Caller {
  readonly principal: Caller["principal"];
  readonly requestId: string;
  readonly priority?: number;
  readonly #gone: Gone;

  constructor(caller: Caller | undefined, gone: Gone) {
    this.principal = caller?.principal as Caller["principal"];
    this.requestId = caller?.requestId as string;
    if (caller?.priority !== undefined) this.priority = caller.priority;
    this.#gone = gone;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }
}

/** Whether a client is still there, watched from the first time that somebody asks. */
class Gone {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply | undefined;
  #signal: AbortSignal | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply | undefined) {
    this.#request = request;
    this.#reply = reply;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#watch();
    return this.#signal;
  }

  #watch(): AbortSignal {
    const controller = new AbortController();
    const reply = this.#reply;
    const source = reply?.raw ?? this.#request.raw.socket;
    const end = () => {
      if (reply === undefined || !reply.raw.writableFinished)
        controller.abort(new AppError("timeout", "the client closed the connection"));
    };
    if (source.destroyed) end();
    else source.once("close", end);
    return controller.signal;
  }
}
