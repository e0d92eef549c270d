import type { MachineFiles } from "./machine-files.ts";

/** Sandboxes have the same files there (engines/root/host-etc.ts). */
const shared = ["/etc/ssl/certs/", "/etc/pki/ca-trust/extracted/", "/etc/pki/tls/certs/", "/usr/"];
export const certificatePath = "/workspace/.packages/registry.pem";

/** Where a sandbox finds certificates that a setting of this machine names, and what must be put there. */
export async function placeCertificates(
  host: MachineFiles,
  path: string,
): Promise<{ path: string; text: string | null }> {
  if (shared.some((folder) => path.startsWith(folder))) return { path, text: null };
  const text = await host.certificates(path);
  return text === undefined ? { path, text: null } : { path: certificatePath, text };
}
