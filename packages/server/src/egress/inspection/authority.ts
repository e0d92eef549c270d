import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { inspectionLimits } from "../gate-limits.ts";
import { makeCertificate } from "./certificate.ts";

const dayMs = 86_400_000;
const words = "Caisson sandbox";

/** What must be kept for the authority to be the same for the next owner of its sandbox. */
export interface AuthorityKey {
  /** PKCS #8, PEM. */
  privateKey: string;
  certificate: string;
}

/** Makes the authority that one sandbox trusts, and no other. */
export function makeAuthorityKey(nowMs: number): AuthorityKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const certificate = makeCertificate({
    subject: words,
    publicKey,
    issuer: { subject: words, privateKey },
    isAuthority: true,
    fromMs: nowMs - dayMs,
    toMs: nowMs + inspectionLimits.authorityDays * dayMs,
  });
  return { privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), certificate };
}

/** Speaks for hosts to one sandbox. Its key never leaves this process but to be kept. */
export class Authority {
  readonly certificate: string;
  readonly #key: KeyObject;
  /** One pair of keys for all hosts: whoever has this process's memory has all of them anyway. */
  readonly #host = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #hostPem = this.#host.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  readonly #contexts = new Map<string, { context: SecureContext; untilMs: number }>();

  constructor({ privateKey, certificate }: AuthorityKey) {
    this.certificate = certificate;
    this.#key = createPrivateKey(privateKey);
  }

  /** For a server that is to be taken for this host. The ones used last are kept. */
  contextFor(host: string, nowMs: number): SecureContext {
    const known = this.#contexts.get(host);
    this.#contexts.delete(host);
    const kept = known !== undefined && known.untilMs > nowMs ? known : this.#make(host, nowMs);
    this.#contexts.set(host, kept);
    const [oldest] = this.#contexts.keys();
    if (this.#contexts.size > inspectionLimits.hosts && oldest !== undefined) this.#contexts.delete(oldest);
    return kept.context;
  }

  #make(host: string, nowMs: number): { context: SecureContext; untilMs: number } {
    const days = inspectionLimits.hostDays;
    const cert = makeCertificate({
      subject: host,
      publicKey: this.#host.publicKey,
      issuer: { subject: words, privateKey: this.#key },
      isAuthority: false,
      fromMs: nowMs - dayMs,
      toMs: nowMs + days * dayMs,
    });
    const context = createSecureContext({ key: this.#hostPem, cert, minVersion: "TLSv1.2" });
    return { context, untilMs: nowMs + (days - 1) * dayMs };
  }
}
