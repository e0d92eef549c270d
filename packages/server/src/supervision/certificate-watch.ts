import { emitWarning } from "node:process";
import { setInterval } from "node:timers/promises";
import type { CertificatePem } from "../core/certificate.ts";
import { AppError, messageOf } from "../core/errors.ts";
import {
  type CertificatePaths,
  certificateState,
  type LoadedCertificate,
  readCertificate,
} from "./certificate-files.ts";
import { supervisionLimits } from "./limits.ts";

export interface CertificateStatus {
  expiresAt: string;
  /** Why the files as they are now are not used. */
  problem: string | null;
}

interface WatchParts {
  paths: CertificatePaths;
  /** How often it looks. */
  everyMs?: number;
  log: (text: string) => void;
}

type OnChange = (pem: CertificatePem) => void;

/** Looks for new versions of the certificate's files. One that cannot be used is logged, and the former one stays (S109). */
export class CertificateWatch implements Disposable {
  readonly #parts: WatchParts;
  readonly #stopping = new AbortController();
  #current: LoadedCertificate;
  #state: string;
  #problem: string | null = null;

  private constructor(parts: WatchParts, state: string, first: LoadedCertificate) {
    this.#parts = parts;
    this.#state = state;
    this.#current = first;
  }

  /** Fails if the files cannot be used. */
  static async open(parts: WatchParts): Promise<CertificateWatch> {
    const state = await certificateState(parts.paths);
    return new CertificateWatch(parts, state, await readCertificate(parts.paths));
  }

  /** Calls back with each new version that can be used. */
  start(onChange: OnChange): void {
    this.#poll(onChange).catch(() => undefined); // it ends with the watch
  }

  get pem(): CertificatePem {
    const { cert, key } = this.#current;
    return { cert, key };
  }

  get status(): CertificateStatus {
    return { expiresAt: this.#current.expiresAt.toISOString(), problem: this.#problem };
  }

  async #poll(onChange: OnChange): Promise<void> {
    const { signal } = this.#stopping;
    const { everyMs = supervisionLimits.certificateEveryMs } = this.#parts;
    for await (const _ of setInterval(everyMs, undefined, { signal, ref: false })) {
      const state = await certificateState(this.#parts.paths);
      if (state === this.#state) continue;
      this.#state = state; // before it is read: what changes meanwhile is read again
      await this.#load(onChange);
    }
  }

  async #load(onChange: OnChange): Promise<void> {
    const { paths } = this.#parts;
    const until = () => this.#current.expiresAt.toISOString();
    try {
      const found = await readCertificate(paths);
      if (found.expiresAt.getTime() <= Date.now())
        throw new AppError("invalid", `tls.cert_file: ${paths.certFile} expired at ${found.expiresAt.toISOString()}`);
      this.#current = found;
      this.#problem = null;
      onChange(this.pem);
      this.#log(`uses the new certificate in ${paths.certFile}, which expires at ${until()}`);
    } catch (error) {
      this.#problem = messageOf(error);
      this.#log(`${this.#problem}; still uses the earlier certificate, which expires at ${until()}`);
    }
  }

  /** A log that cannot be written, on a full disk for example, does not end the watch. */
  #log(text: string): void {
    try {
      this.#parts.log(text);
    } catch (error) {
      emitWarning(`cannot log: ${messageOf(error)}`);
    }
  }

  [Symbol.dispose](): void {
    this.#stopping.abort();
  }
}
