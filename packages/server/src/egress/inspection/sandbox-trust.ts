import type { LayeredPolicy } from "../../core/egress.ts";
import type { Tunnels } from "../../core/tunnel.ts";
import { Once } from "../../lib/once.ts";
import type { Authority } from "./authority.ts";
import type { UpstreamTrust } from "./upstream-trust.ts";

const folder = "caisson";
const own = "ca.pem";
const all = "ca-bundle.pem";

/** Where programs look for whom to trust, and which of the two files they take: one in place of their own, or one beside. */
const variables: Readonly<Record<string, string>> = {
  SSL_CERT_FILE: `/run/${folder}/${all}`,
  REQUESTS_CA_BUNDLE: `/run/${folder}/${all}`,
  CURL_CA_BUNDLE: `/run/${folder}/${all}`,
  GIT_SSL_CAINFO: `/run/${folder}/${all}`,
  PIP_CERT: `/run/${folder}/${all}`,
  AWS_CA_BUNDLE: `/run/${folder}/${all}`,
  NODE_EXTRA_CA_CERTS: `/run/${folder}/${own}`,
  DENO_CERT: `/run/${folder}/${own}`,
};

export interface SandboxTrustParts {
  tunnels: Tunnels;
  authority: () => Promise<Authority>;
  host: UpstreamTrust;
  policy: () => LayeredPolicy;
}

/** Puts the authority of a sandbox where its programs find it, once there is a rule that inspects. */
export class SandboxTrust {
  readonly #parts: SandboxTrustParts;
  readonly #placed = new Once<void>();

  constructor(parts: SandboxTrustParts) {
    this.#parts = parts;
  }

  get #isNeeded(): boolean {
    return this.#parts.policy().some(({ policy }) => policy.allow.some(({ inspect }) => inspect === true));
  }

  /** For programs that start now. */
  variables(): Readonly<Record<string, string>> {
    return this.#isNeeded ? variables : {};
  }

  async placed(): Promise<void> {
    if (this.#isNeeded) await this.#placed.get(() => this.#place());
  }

  async #place(): Promise<void> {
    const { tunnels, host } = this.#parts;
    const [{ certificate }, { bundle }] = await Promise.all([this.#parts.authority(), host.load()]);
    await tunnels.place(folder, own, Buffer.from(certificate));
    await tunnels.place(folder, all, Buffer.from(`${bundle}${certificate}`));
  }
}
