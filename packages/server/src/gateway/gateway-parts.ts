import type { ServerPool } from "../core/server-link.ts";
import type { CallRecorder } from "./call-recorder.ts";
import type { Pipeline } from "./pipeline.ts";
import type { Upstreams } from "./upstreams.ts";

/** Parts that every exchange of the gateway needs. */
export interface GatewayParts {
  pool: ServerPool;
  pipeline: Pipeline;
  recorder: CallRecorder;
  upstreams: Upstreams;
  onError: (error: unknown) => void;
}
