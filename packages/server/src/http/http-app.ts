import type { FastifyInstance } from "fastify";
import type { Audit } from "../core/audit.ts";
import type { CreateSandbox, Fleet } from "../core/fleet.ts";
import type { IdempotencyRecords } from "../core/idempotency.ts";
import type { Journal } from "../core/journal.ts";
import type { Signer } from "../core/manifest.ts";
import type { RunRecords } from "../core/run-record.ts";
import type { Keyring } from "../identity/keyring.ts";
import { OneTimeTokens } from "../identity/one-time-tokens.ts";
import { TokenBuckets } from "../identity/token-bucket.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { archiveRoutes } from "./archive.ts";
import { artifactRoutes } from "./artifacts.ts";
import { auditRoutes } from "./audit.ts";
import { checkpointRoutes } from "./checkpoints.ts";
import { contextRoutes } from "./contexts.ts";
import { daemonRoutes, type ShownSetting } from "./daemon.ts";
import { documentRoutes } from "./documents.ts";
import { eventRoutes } from "./events.ts";
import { execRoutes } from "./exec.ts";
import { type FastifyParts, openFastify, registerAll } from "./fastify-app.ts";
import { fileRoutes } from "./files.ts";
import { folderRoutes } from "./folders.ts";
import { forkRoutes } from "./fork.ts";
import { healthRoutes } from "./health.ts";
import { HeldBodies } from "./held-bodies.ts";
import { Idempotency } from "./idempotency.ts";
import { keyRoutes } from "./keys.ts";
import { httpLimits, identityLimits } from "./limits.ts";
import { OpenStreams } from "./open-streams.ts";
import { processRoutes } from "./processes.ts";
import type { Readiness } from "./readiness.ts";
import type { Route } from "./route.ts";
import { runRoutes } from "./runs.ts";
import { sandboxRoutes } from "./sandboxes.ts";
import { searchRoutes } from "./search.ts";
import { setupRoutes } from "./setup.ts";
import { signedUrlRoutes } from "./signed-urls.ts";
import { type Ticket, terminalRoutes } from "./terminal.ts";
import { UnreadResponses } from "./unread-responses.ts";

export interface HttpParts extends FastifyParts {
  create: CreateSandbox;
  fleet: Fleet<Sandbox>;
  keyring: Keyring;
  audit: Audit;
  journal: Journal;
  idempotency: IdempotencyRecords;
  runs: RunRecords;
  /** Who signs manifests. */
  signer: () => Promise<Signer>;
  settings: () => ShownSetting[];
  ready: Readiness;
  version: string;
  rate?: { perSecond: number; burst: number };
  streamsPerKey?: number;
  /** How long a body may stand still. */
  bodyIdleMs?: number;
  bodyMs?: number;
  unread?: UnreadResponses;
  /** How often clients are looked for that do not read. */
  stalledEveryMs?: number;
  /** Routes of other domains. */
  routes?: readonly Route[];
}

export interface HttpApp {
  app: FastifyInstance;
  /** Everything it answers, as data. */
  routes: readonly Route[];
  /** A link that shows an administrator's key, once: its path and query. */
  issueSetupLink(): string;
}

/** The REST API. It listens nowhere by itself. */
export function createHttpApp(parts: HttpParts): HttpApp {
  const links = new OneTimeTokens<"setup">({ lifetimeMs: identityLimits.setupLinkMs, most: identityLimits.setupLinks });
  const tickets = new OneTimeTokens<Ticket>({ lifetimeMs: identityLimits.ticketMs, most: identityLimits.tickets });
  const unread = parts.unread ?? new UnreadResponses();
  const streams = new OpenStreams(parts.streamsPerKey ?? httpLimits.streamsPerKey.default);
  const routes: Route[] = [
    ...sandboxRoutes(parts),
    ...forkRoutes(parts.fleet),
    ...checkpointRoutes(parts.fleet),
    ...execRoutes(parts.fleet),
    ...fileRoutes(parts.fleet),
    ...folderRoutes(parts.fleet),
    ...searchRoutes(parts.fleet),
    ...archiveRoutes(parts.fleet),
    ...signedUrlRoutes({
      fleet: parts.fleet,
      keyring: parts.keyring,
      journal: parts.journal,
      streams,
      publicUrl: parts.publicUrl,
    }),
    ...processRoutes(parts.fleet),
    ...contextRoutes(parts.fleet),
    ...terminalRoutes(parts.fleet, tickets),
    ...runRoutes(parts),
    ...artifactRoutes(parts.fleet, parts.signer),
    ...eventRoutes(parts.journal),
    ...auditRoutes(parts.audit),
    ...keyRoutes(parts.keyring, (id) => streams.endAll(id)),
    ...daemonRoutes(parts),
    ...(parts.routes ?? []),
    ...healthRoutes(parts.ready),
    ...setupRoutes({ keyring: parts.keyring, links }),
    ...documentRoutes(() => routes, parts),
  ];
  const app = openFastify(parts, routes);
  const everyMs = parts.stalledEveryMs ?? httpLimits.stalledEveryMs;
  const watching = setInterval(() => unread.endStalled(performance.now()), everyMs).unref();
  app.addHook("onClose", async () => clearInterval(watching));
  registerAll(app, routes, {
    bodyIdleMs: parts.bodyIdleMs ?? httpLimits.bodyIdleMs,
    bodyMs: parts.bodyMs ?? httpLimits.bodyMs,
    bodies: new HeldBodies(),
    keyring: parts.keyring,
    journal: parts.journal,
    buckets: new TokenBuckets({
      perSecond: parts.rate?.perSecond ?? httpLimits.requestsPerSecond.default,
      burst: parts.rate?.burst ?? httpLimits.requestBurst.default,
      most: httpLimits.buckets,
    }),
    streams,
    unread,
    idempotency: new Idempotency(parts.idempotency),
    redeemTicket: async (token, path) => {
      const ticket = tickets.redeem(token);
      if (ticket?.path !== path) return undefined;
      const { id, namespace } = ticket.principal;
      const principal = await parts.keyring.principalOf(id); // its key may be revoked by now
      return principal && { ...principal, namespace };
    },
    onError: parts.onError,
  });
  return { app, routes, issueSetupLink: () => `/setup?token=${links.issue("setup").token}` };
}
