/** `/sandbox/{id}/mcp` over a service. Loaded when its first client comes, as `mcp-door.ts`. */
import type { ContentPolicy } from "../core/audit.ts";
import type { ServerPool } from "../core/server-link.ts";
import { CallRecorder } from "../gateway/call-recorder.ts";
import type { CallCounts } from "../gateway/call-stats.ts";
import { Gateway } from "../gateway/gateway.ts";
import { openPipeline } from "../gateway/pipeline.ts";
import { noScanner } from "../gateway/scanner.ts";
import { allTools } from "../gateway/tool-policy.ts";
import { Upstreams } from "../gateway/upstreams.ts";
import type { Service } from "./service.ts";

interface GatewayDoorParts {
  pool: ServerPool;
  counts: CallCounts;
  policy: ContentPolicy;
  onError: (error: unknown) => void;
}

export function openGatewayDoor(
  { journal, redactors }: Pick<Service, "journal" | "redactors">,
  { pool, counts, policy, onError }: GatewayDoorParts,
): Gateway {
  return new Gateway({
    pool,
    pipeline: openPipeline({ policy: allTools, scanner: noScanner }),
    recorder: new CallRecorder({ journal, content: { policy, redactors }, counts }),
    upstreams: new Upstreams(),
    onError,
  });
}
