import { homedir } from "node:os";
import type { RuleDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import type { PackageManager } from "../core/package.ts";
import { builtIn, readStart } from "./built-in.ts";
import { packageLimits } from "./limits.ts";

/** What this machine says of its package managers, read but not understood. */
export interface HostFiles {
  /** Texts of configuration files, by path; those that are missing, are. */
  text(path: string): Promise<string | undefined>;
  /** Certificates in PEM that a setting names. */
  certificates(path: string): Promise<string | undefined>;
  /** Where a program goes that is configured for nothing else; null where it is not installed. */
  builtIn(manager: PackageManager): Promise<{ url: string; files?: string } | null>;
  /** A host in the one form of a rule; refuses what no sandbox can reach. */
  checkHost(host: RuleDraft): RuleDraft;
  variables: Readonly<Record<string, string | undefined>>;
  /** Of whoever starts the daemon. */
  home: string;
}

/** Whole, or refused: half of a bundle would trust half of whom it should. */
async function readCertificates(path: string): Promise<string | undefined> {
  const { certificateBytes } = packageLimits;
  const text = await readStart(path, certificateBytes + 1);
  if (text === undefined || Buffer.byteLength(text) <= certificateBytes) return text;
  throw new AppError("unsupported", `the certificates of a registry are too large (limit: ${certificateBytes} bytes)`);
}

/** This machine's own, for whoever runs this and has these variables. */
export function hostFiles(variables: HostFiles["variables"], checkHost: HostFiles["checkHost"]): HostFiles {
  return {
    text: (path) => readStart(path, packageLimits.configBytes),
    certificates: readCertificates,
    builtIn,
    checkHost,
    variables,
    home: variables.HOME || homedir(),
  };
}
