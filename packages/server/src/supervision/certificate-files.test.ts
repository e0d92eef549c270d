import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestAuthority } from "../../../../test/http/certificates.ts";
import { readCertificate } from "./certificate-files.ts";

const { cert, key } = new TestAuthority().issue("localhost", 30);
const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const lockedKey = pair.privateKey
  .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "word" })
  .toString();

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-pem-");
});
afterAll(() => rm(folder, { recursive: true }));

async function read(files: { cert: string; key: string }) {
  const paths = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  await writeFile(paths.certFile, files.cert);
  await writeFile(paths.keyFile, files.key);
  return readCertificate(paths);
}

describe("the files of a certificate", () => {
  it("are read with the time at which it expires", async () => {
    const found = await read({ cert, key });
    expect(found).toMatchObject({ cert, key });
    expect(Math.round((found.expiresAt.getTime() - Date.now()) / 86_400_000)).toBe(30);
  });

  it.each([
    ["is not a certificate in PEM", { cert: "nothing", key }],
    ["is not a certificate in PEM", { cert: key, key }],
    ["is not a private key in PEM without a passphrase", { cert, key: "nothing" }],
    ["is not a private key in PEM without a passphrase", { cert, key: key.slice(0, 100) }],
    ["is not a private key in PEM without a passphrase", { cert, key: lockedKey }],
    ["does not belong to the certificate", { cert, key: new TestAuthority().issue("localhost").key }],
    ["is larger than", { cert: cert + " ".repeat(200_000), key }],
  ])("[S109] are refused if one %s, and nothing of the key is shown", async (words, files) => {
    const error = await read(files).catch((reason) => reason);
    expect(error.message).toContain(words);
    expect(error.message).toContain(folder);
    for (const line of [...key.split("\n"), ...lockedKey.split("\n")].filter((one) => one.length > 20))
      expect(`${error.message} ${error.hint}`).not.toContain(line);
  });

  it("are named where one is not there, or is a folder", async () => {
    const paths = { certFile: join(folder, "none.pem"), keyFile: folder };
    await expect(readCertificate(paths)).rejects.toThrow(`tls.cert_file: cannot read ${folder}/none.pem: ENOENT`);
    await expect(readCertificate({ ...paths, certFile: folder })).rejects.toThrow("is not a regular file");
  });
});
