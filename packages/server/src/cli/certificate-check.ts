import { addressOptions } from "../config/address-options.ts";
import type { Configuration } from "../config/config.ts";
import type { Check } from "../core/diagnosis.ts";
import { messageOf } from "../core/errors.ts";
import { readCertificate } from "../supervision/certificate-files.ts";
import type { CertificateStatus } from "../supervision/certificate-watch.ts";
import { supervisionLimits } from "../supervision/limits.ts";

const name = "TLS certificate";
const hint = "renew it; the daemon uses new files within seconds, without a restart";

/** Describes the certificate of a daemon: a warning if it expires soon or its files cannot be used. */
export function certificateCheck({ expiresAt, problem }: CertificateStatus, nowMs = Date.now()): Check {
  const leftMs = Date.parse(expiresAt) - nowMs;
  const days = Math.floor(leftMs / 86_400_000);
  const detail =
    leftMs <= 0 ? `expired at ${expiresAt}` : `expires at ${expiresAt}, in ${days} ${days === 1 ? "day" : "days"}`;
  if (problem !== null)
    return {
      name,
      state: "warning",
      detail: `${detail}; its files cannot be used: ${problem}`,
      hint: "correct the files",
    };
  if (leftMs <= 0) return { name, state: "failed", detail, hint };
  return leftMs < supervisionLimits.certificateWarningMs
    ? { name, state: "warning", detail, hint }
    : { name, state: "ok", detail };
}

/** Checks the files that are configured; none if TLS is not. */
export async function certificateChecks(configuration: Configuration): Promise<Check[]> {
  try {
    const { certificate } = addressOptions(configuration);
    if (certificate === null) return [];
    const { expiresAt } = await readCertificate(certificate);
    return [certificateCheck({ expiresAt: expiresAt.toISOString(), problem: null })];
  } catch (error) {
    return [{ name, state: "failed", detail: messageOf(error) }];
  }
}
