import { AppError } from "../core/errors.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import { browserLimits } from "../web/browser/limits.ts";
import { findSession } from "./find-session.ts";
import type { ToolCall } from "./tool.ts";

/** The session in which pages of another are opened. */
export function browserSession(key: string): string {
  return `${key}-browser`;
}

export interface BrowserSession {
  record: SandboxRecord;
  isNew: boolean;
  /** The session that was named has a browser itself. */
  isOwn: boolean;
}

/** Where a page is opened: in the session itself if it is of that image, else in one beside it. */
export async function browserSessionOf(
  call: ToolCall,
  named: string | undefined,
  image: string,
): Promise<BrowserSession> {
  const { caller, parts } = call;
  const key = named ?? call.session;
  const own = await findSession(call, key);
  if (own !== undefined && own.image === image && named !== undefined) {
    checkRoom(own);
    call.using?.(own.id);
    return { record: own, isNew: false, isOwn: true };
  }
  const { memoryBytes, storageBytes, processes, cpus, idleTimeoutMs, lifetimeMs } = browserLimits;
  const asked = {
    ...{ sessionKey: browserSession(key), image, idleTimeoutMs, lifetimeMs, keepArtifactsMs: 0 },
    limits: { memoryBytes, storageBytes, processes, cpus },
  } as const;
  const { record, isNew } = await parts.create(caller, asked).catch((error: unknown) => {
    throw explained(error, image);
  });
  if (record.image !== image)
    throw new AppError("conflict", `the session ${browserSession(key)} is of the image ${record.image}`, {
      hint: `it is where pages are opened: terminate it, or name another session`,
    });
  call.using?.(record.id);
  return { record, isNew, isOwn: false };
}

/** With less it hangs rather than fails. */
function checkRoom({ limits }: SandboxRecord): void {
  const { leastProcesses, leastMemoryBytes } = browserLimits;
  if (limits.processes >= leastProcesses && limits.memoryBytes >= leastMemoryBytes) return;
  const megabytes = leastMemoryBytes / 1024 ** 2;
  throw new AppError("limit_exceeded", `a browser needs ${leastProcesses} processes and ${megabytes} MB of memory`, {
    hint: "raise max_processes and memory_mb with set_resource_limits, or name another session",
  });
}

/** Nobody has brought the image. */
function explained(error: unknown, image: string): unknown {
  if (!(error instanceof AppError && error.code === "not_found" && error.details?.images !== undefined)) return error;
  return new AppError("unsupported", `browser_fetch needs the image ${image}, which is not there`, {
    hint: `an administrator brings it with: caisson image import ${image}; fetch_webpage reads pages without JavaScript`,
    details: { needs: `image ${image}` },
    cause: error,
  });
}
