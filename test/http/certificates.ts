import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { CertificatePem } from "../../packages/server/src/core/certificate.ts";
import { makeCertificate } from "../../packages/server/src/egress/inspection/certificate.ts";

const dayMs = 86_400_000;

/** A new pair of keys, its private one in PEM. */
function makeKeys(): { publicKey: KeyObject; privateKey: KeyObject; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { publicKey, privateKey, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

/** Signs certificates of test servers. */
export class TestAuthority {
  readonly certificate: string;
  readonly #subject = "Caisson test";
  readonly #keys = makeKeys();

  constructor() {
    const { publicKey, privateKey } = this.#keys;
    const issuer = { subject: this.#subject, privateKey };
    this.certificate = makeCertificate({
      ...this.#terms(365),
      subject: this.#subject,
      publicKey,
      issuer,
      isAuthority: true,
    });
  }

  /** For a server of this name; with a negative number of days it has expired. */
  issue(subject: string, days = 90): CertificatePem {
    const { publicKey, key } = makeKeys();
    const issuer = { subject: this.#subject, privateKey: this.#keys.privateKey };
    return { cert: makeCertificate({ ...this.#terms(days), subject, publicKey, issuer, isAuthority: false }), key };
  }

  #terms(days: number): { fromMs: number; toMs: number } {
    return { fromMs: Date.now() - 30 * dayMs, toMs: Date.now() + days * dayMs };
  }
}
