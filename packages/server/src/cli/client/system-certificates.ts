import type { Variables } from "../../config/env.ts";

/**
 * Makes connections to an https:// daemon trust what this machine trusts, beside Node's own list and NODE_EXTRA_CA_CERTS.
 * Reading them takes a while, so other commands do not.
 */
export async function trustSystemCertificates({ CAISSON_URL: url = "" }: Variables): Promise<void> {
  if (URL.parse(url)?.protocol !== "https:") return;
  const { getCACertificates, setDefaultCACertificates } = await import("node:tls");
  setDefaultCACertificates([...getCACertificates("default"), ...getCACertificates("system")]);
}
