import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { TestAuthority } from "../../../../test/http/certificates.ts";
import { CertificateWatch } from "./certificate-watch.ts";

it("[S109] a certificate's new files are taken or refused once for each time that they change", async () => {
  const folder = await mkdtemp("/var/tmp/caisson-pem-");
  const authority = new TestAuthority();
  const paths = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  const { cert, key } = authority.issue("localhost");
  await writeFile(paths.certFile, cert);
  await writeFile(paths.keyFile, key);
  const said: string[] = [];
  const log = (text: string) => {
    said.push(text);
    if (said.length === 1) throw new Error("no space left");
  };
  using watch = await CertificateWatch.open({ paths, everyMs: 2, log });
  const taken = vi.fn();
  watch.start(taken);
  const steps = [
    [paths.certFile, "nothing", "is not a certificate"],
    [paths.certFile, cert, "uses the new certificate"],
    [paths.keyFile, "nothing", "is not a private key"],
    [paths.keyFile, key, "uses the new certificate"],
  ] as const;
  for (const [path, text, words] of steps) {
    const before = said.length;
    await rm(path); // a version that is half written would be one more
    await vi.waitFor(() => expect(said.length).toBe(before + 1));
    expect(said.at(-1)).toContain("ENOENT");
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
    await vi.waitFor(() => expect(said.at(-1)).toContain(words));
    expect(said.length).toBe(before + 2);
    expect(watch.pem).toEqual({ cert, key });
  }
  expect(taken).toHaveBeenCalledTimes(2);
  expect(taken).toHaveBeenLastCalledWith({ cert, key });
  expect(watch.status.problem).toBeNull();
  await rm(folder, { recursive: true });
});
