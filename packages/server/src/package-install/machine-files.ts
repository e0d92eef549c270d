import { homedir } from "node:os";
import type { RuleDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import type { PackageManager } from "../core/package.ts";
import { builtIn, readStart } from "./built-in.ts";
import { packageLimits } from "./limits.ts";

/** Configuration of the package managers of this machine, read but not parsed. */
export interface MachineFiles {
  /** Texts of configuration files, by path; those that are missing, are. */
  text(path: string): Promise<string | undefined>;
  /** Certificates in PEM that a setting names. */
  certificates(path: string): Promise<string | undefined>;
  /** Registry that a program uses without configuration; null if it is not installed. */
  builtIn(manager: PackageManager): Promise<{ url: string; files?: string } | null>;
  /** A host in the one form of a rule; refuses what no sandbox can reach. */
  checkHost(host: RuleDraft): RuleDraft;
  variables: Readonly<Record<string, string | undefined>>;
  /** Home folder of the user who starts the daemon. */
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
export function hostFiles(variables: MachineFiles["variables"], checkHost: MachineFiles["checkHost"]): MachineFiles {
  return {
    text: (path) => readStart(path, packageLimits.configBytes),
    certificates: readCertificates,
    builtIn,
    checkHost,
    variables,
    home: variables.HOME || homedir(),
  };
}
