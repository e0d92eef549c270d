import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { CertificatePem } from "../core/certificate.ts";
import { AppError, errnoOf, messageOf } from "../core/errors.ts";
import { supervisionLimits } from "./limits.ts";

export interface CertificatePaths {
  certFile: string;
  keyFile: string;
}

export interface LoadedCertificate extends CertificatePem {
  expiresAt: Date;
}

/** Reads a certificate and its key, and checks that a server can use them. Errors show nothing of the key. */
export async function readCertificate({ certFile, keyFile }: CertificatePaths): Promise<LoadedCertificate> {
  const cert = await readText("tls.cert_file", certFile);
  const key = await readText("tls.key_file", keyFile);
  const certificate = parse(() => new X509Certificate(cert), `tls.cert_file: ${certFile} is not a certificate in PEM`);
  const privateKey = parse(
    (): KeyObject => createPrivateKey(key),
    `tls.key_file: ${keyFile} is not a private key in PEM without a passphrase`,
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new AppError("invalid", `tls.key_file: ${keyFile} does not belong to the certificate in ${certFile}`);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new AppError("invalid", `tls.cert_file: cannot use ${certFile}: ${messageOf(error)}`);
  }
  return { cert, key, expiresAt: certificate.validToDate };
}

/** Changes when one of the files is written or replaced. */
export async function certificateState({ certFile, keyFile }: CertificatePaths): Promise<string> {
  const states = [certFile, keyFile].map(async (path) => {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
      return [dev, ino, size, mtimeNs, ctimeNs].join();
    } catch (error) {
      return String(errnoOf(error));
    }
  });
  return (await Promise.all(states)).join(" ");
}

function parse<T>(read: () => T, problem: string): T {
  try {
    return read();
  } catch {
    throw new AppError("invalid", problem);
  }
}

async function readText(setting: string, path: string): Promise<string> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // a FIFO must not block the start
    const info = await file.stat();
    if (!info.isFile()) throw new AppError("invalid", `${setting}: ${path} is not a regular file`);
    if (info.size > supervisionLimits.pemBytes)
      throw new AppError("too_large", `${setting}: ${path} is larger than ${supervisionLimits.pemBytes} bytes`);
    return await file.readFile("utf8");
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("unavailable", `${setting}: cannot read ${path}: ${errnoOf(error)}`);
  }
}
