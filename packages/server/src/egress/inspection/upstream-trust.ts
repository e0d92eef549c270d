import { readFile } from "node:fs/promises";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { AppError, messageOf } from "../../core/errors.ts";
import { Once } from "../../lib/once.ts";

interface Trusted {
  /** For speaking to hosts. */
  context: SecureContext;
  /** Every certificate, in PEM. */
  bundle: string;
}

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Whom this machine takes hosts' certificates from, and whom else it was told to. */
export class UpstreamTrust {
  readonly #files: readonly string[];
  readonly #loaded = new Once<Trusted>();

  constructor(files: readonly string[] = []) {
    this.#files = files;
  }

  /** Reading some hundred certificates takes a while: it is done when the first connection needs them. */
  load(): Promise<Trusted> {
    return this.#loaded.get(async () => {
      const own = await Promise.all(this.#files.map(readCertificates));
      const machine = getCACertificates("system");
      const ca = [...new Set([...(machine.length > 0 ? machine : getCACertificates("bundled")), ...own.flat()])];
      return { context: createSecureContext({ ca, minVersion: "TLSv1.2" }), bundle: `${ca.join("\n")}\n` };
    });
  }
}

async function readCertificates(path: string): Promise<string[]> {
  const text = await readFile(path, "latin1").catch((error: unknown) => {
    throw new AppError("unavailable", `cannot read the certificates in ${path}: ${messageOf(error)}`);
  });
  const found = text.match(pem);
  if (found === null) throw new AppError("invalid", `${path} contains no certificate in PEM`);
  return found;
}
