import { AppError } from "../core/errors.ts";
import type { HostAccess } from "../core/host-access.ts";

/** What the host is until its operator opens it: every call is refused (HST-01). */
export const closedHost: HostAccess = {
  exec: refuse,
  request: refuse,
  list: refuse,
  readFile: refuse,
  writeFile: refuse,
  listFolder: refuse,
  openFile: refuse,
};

function refuse(): Promise<never> {
  return Promise.reject(
    new AppError("forbidden", "host access is disabled", {
      hint: "use the sandbox instead; an operator can enable host access: host.enabled",
    }),
  );
}
