import type { ContentPolicy } from "../core/audit.ts";
import type { CallStats, HostedServers } from "../core/server.ts";
import type { ServerPool } from "../core/server-link.ts";
import { HttpDialer } from "../egress/dialer.ts";
import { CallCounts } from "../gateway/call-stats.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { approvalRoutes } from "../http/approvals.ts";
import { egressRoutes } from "../http/egress.ts";
import { egressLogRoutes } from "../http/egress-log.ts";
import { gcRoutes } from "../http/gc.ts";
import { createHttpApp, type HttpApp, type HttpParts } from "../http/http-app.ts";
import { imageArchiveRoutes } from "../http/image-archive.ts";
import { imageRoutes } from "../http/images.ts";
import { keptArtifactRoutes } from "../http/kept-artifacts.ts";
import { mcpRoutes } from "../http/mcp.ts";
import { packageRoutes } from "../http/packages.ts";
import { PortServer } from "../http/port-server.ts";
import { portRoutes } from "../http/ports.ts";
import { runReportRoutes } from "../http/run-reports.ts";
import { secretRoutes } from "../http/secrets.ts";
import { serverGatewayRoutes } from "../http/server-gateway.ts";
import { serverRoutes } from "../http/servers.ts";
import { skillRoutes } from "../http/skills.ts";
import { snapshotRoutes } from "../http/snapshots.ts";
import { templateRoutes } from "../http/templates.ts";
import { toolRoutes } from "../http/tools.ts";
import { webhookRoutes } from "../http/webhooks.ts";
import { Keyring } from "../identity/keyring.ts";
import { PortPasses } from "../identity/port-passes.ts";
import { Once } from "../lib/once.ts";
import { Traces } from "../mcp/traces.ts";
import { WebhookSender } from "../webhooks/webhook-sender.ts";
import type { McpDoor } from "./mcp-door.ts";
import type { Service } from "./service.ts";
import { toolPartsOf } from "./tool-parts.ts";

/** Settings of the doors, and parts that replace those of the service. */
type DoorParts = Required<Pick<HttpParts, RequiredParts>> &
  Omit<Partial<HttpParts>, RequiredParts> & {
    webhooks: { mayBePrivate: boolean; waitsMs?: readonly number[] };
    /** Tool sets of MCP clients that name none. Default: core. */
    mcpTools?: readonly string[];
    /** Content of tool calls that the audit log keeps. Default: none. */
    auditContent?: ContentPolicy;
    /** Origin of the links that people and clients see. */
    linkBase: () => string;
    /** Hosted MCP servers. Default: those of the service. */
    hosted?: { servers: HostedServers; serverPool: ServerPool };
  };

type RequiredParts = "settings" | "ready" | "version" | "onError";

interface Doors extends AsyncDisposable {
  http: HttpApp;
  /** For browsers; it listens nowhere by itself. */
  ports: PortServer;
  keyring: Keyring;
  /** Calls of hosted servers' tools. */
  callStats: (serverId: string) => CallStats;
}

/** Every name below it is this machine, to browsers (RFC 6761). */
const portDomain = "localhost";

/** REST, not listening yet, and webhooks. Closing them ends every connection. */
export async function openDoors(
  service: Service,
  {
    webhooks,
    mcpTools = ["core"],
    auditContent,
    linkBase,
    hosted: { servers, serverPool } = service,
    ...parts
  }: DoorParts,
): Promise<Doors> {
  const { caisson, journal, store, storage, approvals, vault, fleet, ports: sharedPorts } = service;
  const { mayBePrivate, ...waits } = webhooks;
  const sender = await WebhookSender.open({
    journal,
    webhooks: store.webhooks,
    batch: () => store.batch(),
    dialer: new HttpDialer({ allowPrivate: mayBePrivate }),
    ...waits,
    onError: parts.onError,
  });
  const keyring = new Keyring({ keys: store.keys, journal });
  const passes = new PortPasses();
  const ports = new PortServer({
    fleet,
    sharedPorts,
    passes,
    keyring,
    journal,
    domain: portDomain,
    bodyIdleMs: parts.bodyIdleMs,
    onError: parts.onError,
  });
  const toolParts = toolPartsOf(service, auditContent);
  const traces = new Traces(journal);
  const mcp = new Once<McpDoor>();
  const openMcp = () =>
    mcp.get(async () => {
      const { openMcpDoor } = await import("./mcp-door.ts");
      const { version, onError } = parts;
      return openMcpDoor({ parts: toolParts, traces, version, sets: mcpTools, onError });
    });
  const callCounts = new CallCounts();
  const gateway = new Once<Gateway>();
  const openGateway = () =>
    gateway.get(async () => {
      const { openGatewayDoor } = await import("./gateway-door.ts");
      const policy = auditContent ?? "none";
      return openGatewayDoor(service, { pool: serverPool, counts: callCounts, policy, onError: parts.onError });
    });
  const http = createHttpApp({
    create: service.create,
    fleet,
    keyring,
    audit: store.audit,
    journal,
    idempotency: store.idempotency,
    runs: store.runs,
    signer: () => caisson.signer(),
    routes: [
      ...snapshotRoutes(fleet, storage.snapshots),
      ...skillRoutes(fleet, storage.skills),
      ...keptArtifactRoutes(storage.artifacts),
      ...gcRoutes(service.collection),
      ...packageRoutes(service.packages),
      ...imageRoutes(service),
      ...imageArchiveRoutes(service.oci),
      ...templateRoutes(service),
      ...secretRoutes({ vault, fleet, keyring, servers }),
      ...webhookRoutes(store.webhooks, sender),
      ...runReportRoutes(service.reports),
      ...approvalRoutes(approvals, fleet),
      ...portRoutes({ fleet, sharedPorts, passes, urlOf: (id, port) => ports.urlOf(id, port) }),
      ...egressRoutes(service.policies),
      ...egressLogRoutes(store.attempts),
      ...toolRoutes(toolParts),
      ...serverRoutes({ servers, stats: (id) => callCounts.of(id), origin: linkBase }),
      ...mcpRoutes({ handle: async (...call) => (await openMcp()).endpoint.handle(...call) }),
      ...serverGatewayRoutes({ handle: async (...call) => (await openGateway()).handle(...call) }),
    ],
    ...parts,
  });
  return {
    http,
    ports,
    keyring,
    callStats: (serverId) => callCounts.of(serverId),
    [Symbol.asyncDispose]: async () => {
      if (gateway.begun) await (await openGateway())[Symbol.asyncDispose]();
      if (mcp.begun) await (await openMcp())[Symbol.asyncDispose]();
      await traces[Symbol.asyncDispose]();
      await ports.close();
      http.app.server.closeAllConnections();
      await http.app.close();
      await sender[Symbol.asyncDispose]();
    },
  };
}
