import { AppError } from "../core/errors.ts";

/** `caisson://SESSION/PATH`: a file of a session's workspace, each part percent-encoded. */
export const workspaceTemplate = "caisson://{session}/{+path}";

export interface WorkspaceFile {
  session: string;
  /** From the workspace on. */
  path: string;
}

export function workspaceUri({ session, path }: WorkspaceFile): string {
  return `caisson://${encodeURIComponent(session)}/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Refuses what is no such address. A path never leaves the workspace: the file worker of the sandbox sees to that. */
export function readWorkspaceUri(uri: string): WorkspaceFile {
  const [, session = "", path = ""] = /^caisson:\/\/([^/?#]+)\/([^?#]+)$/.exec(uri) ?? [];
  try {
    if (session !== "" && path !== "") return { session: decodeURIComponent(session), path: decodeURIComponent(path) };
  } catch {
    // a % that encodes nothing
  }
  throw new AppError("invalid", "this is no address of a file", { hint: "such as caisson://default/output/chart.png" });
}
