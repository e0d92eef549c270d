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
    new AppError("forbidden", "access to the host is turned off", {
      hint: "do it in the sandbox; whoever runs this place could set host.enabled in its configuration",
    }),
  );
}
