import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Errand, ErrandResponse } from "../../packages/server/src/core/errand.ts";
import { certificate } from "./certificate.ts";
import { type FieldOptions, field } from "./field.ts";
import { dnsHost } from "./hosts.ts";
import { names } from "./rules.ts";

/** A gate, the names of these tests, and somebody who fetches on behalf of its sandbox. */
export async function errands(options: FieldOptions) {
  const folder = await mkdtemp(join(tmpdir(), "caisson-errand-"));
  const caFile = join(folder, "host.pem");
  await writeFile(caFile, certificate);
  const dns = await dnsHost(names);
  const box = await field({ caFile, dns: dns.address, ...options });
  return {
    ...box,
    dns,
    run: (errand: Errand): Promise<ErrandResponse> => box.gate.run(errand),
    get: (url: string, signal = new AbortController().signal): Promise<ErrandResponse> =>
      box.gate.run({ url: new URL(url), headers: { "X-From": "test" }, signal }),
    async [Symbol.asyncDispose]() {
      await box[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}
