import { HttpDialer } from "./egress/dialer.ts";
import { WebhookSender } from "./events/webhook-sender.ts";
import { approvalRoutes } from "./http/approvals.ts";
import { egressRoutes } from "./http/egress.ts";
import { egressLogRoutes } from "./http/egress-log.ts";
import { createHttpApp, type HttpApp, type HttpParts } from "./http/http-app.ts";
import { keptArtifactRoutes } from "./http/kept-artifacts.ts";
import { mcpRoutes } from "./http/mcp.ts";
import { packageRoutes } from "./http/packages.ts";
import { PortServer } from "./http/port-server.ts";
import { portRoutes } from "./http/ports.ts";
import { report } from "./http/problem.ts";
import { secretRoutes } from "./http/secrets.ts";
import { skillRoutes } from "./http/skills.ts";
import { snapshotRoutes } from "./http/snapshots.ts";
import { toolRoutes } from "./http/tools.ts";
import { webhookRoutes } from "./http/webhooks.ts";
import { Keyring } from "./identity/keyring.ts";
import { PortPasses } from "./identity/port-passes.ts";
import { callerOf } from "./mcp/caller.ts";
import { Changes } from "./mcp/changes.ts";
import { McpEndpoint } from "./mcp/endpoint.ts";
import { productOffers } from "./mcp/offers.ts";
import { openMcp } from "./mcp/open-mcp.ts";
import { type Service, toolPartsOf } from "./service.ts";
import { endSession } from "./tools/session.ts";
import { toolsOf } from "./tools/tools.ts";

/** What the service does not know of its doors; and what it knows, where that is to be something else. */
type DoorParts = Required<Pick<HttpParts, Told>> &
  Omit<Partial<HttpParts>, Told> & {
    webhooks: { mayBePrivate: boolean; waitsMs?: readonly number[] };
    /** The sets of tools that MCP clients have who name none. */
    mcpTools?: readonly string[];
  };

type Told = "settings" | "ready" | "version" | "onError";

interface Doors extends AsyncDisposable {
  http: HttpApp;
  /** For browsers; it listens nowhere by itself. */
  ports: PortServer;
  keyring: Keyring;
}

/** Every name below it is this machine, to browsers (RFC 6761). */
const portDomain = "localhost";

/** REST, not listening yet, and webhooks. Closing them ends every connection. */
export async function openDoors(
  service: Service,
  { webhooks, mcpTools = ["core"], ...parts }: DoorParts,
): Promise<Doors> {
  const { caisson, feed, store, storage, approvals, vault, fleet, ports: desk } = service;
  const { mayBePrivate, ...waits } = webhooks;
  const sender = await WebhookSender.open({
    feed,
    webhooks: store.webhooks,
    dialer: new HttpDialer({ allowPrivate: mayBePrivate }),
    ...waits,
    onError: parts.onError,
  });
  const keyring = new Keyring({ keys: store.keys });
  const passes = new PortPasses();
  const ports = new PortServer({
    fleet,
    desk,
    passes,
    keyring,
    audit: store.audit,
    domain: portDomain,
    onError: parts.onError,
  });
  const toolParts = toolPartsOf(service);
  const changes = new Changes();
  const mcp = openMcp(
    { toolsOf, parts: toolParts, version: parts.version, report: (error) => report(error, parts.onError) },
    { caller: callerOf },
    changes,
  );
  const endpoint = new McpEndpoint({
    version: parts.version,
    offers: productOffers(mcp),
    verify: mcp.calls.verify,
    changes,
    follow: mcp.follow,
    sets: mcpTools,
    endSession: (caller, key) => endSession(fleet, caller, key),
    onError: parts.onError,
  });
  const http = createHttpApp({
    fleet,
    keyring,
    audit: store.audit,
    feed,
    idempotency: store.idempotency,
    runs: (id) => caisson.runs(id),
    signer: () => caisson.signer(),
    routes: [
      ...snapshotRoutes(fleet, storage.snapshots),
      ...skillRoutes(fleet, storage.skills),
      ...keptArtifactRoutes(storage.artifacts),
      ...packageRoutes(service.packages),
      ...secretRoutes({ vault, fleet, keyring }),
      ...webhookRoutes(store.webhooks, sender),
      ...approvalRoutes(approvals, fleet),
      ...portRoutes({ fleet, desk, passes, urlOf: (id, port) => ports.urlOf(id, port) }),
      ...egressRoutes(service.policies),
      ...egressLogRoutes(store.attempts),
      ...toolRoutes(toolParts),
      ...mcpRoutes(endpoint),
    ],
    ...parts,
  });
  return {
    http,
    ports,
    keyring,
    [Symbol.asyncDispose]: async () => {
      await endpoint[Symbol.asyncDispose]();
      await mcp[Symbol.asyncDispose]();
      await ports.close();
      http.app.server.closeAllConnections();
      await http.app.close();
      await sender[Symbol.asyncDispose]();
    },
  };
}
