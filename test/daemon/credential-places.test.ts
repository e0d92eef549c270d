import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { credentialPlaces } from "../../packages/server/src/supervision/credential-places.ts";
import { checkFolder } from "../../packages/server/src/supervision/folders.ts";

/** Written out: one that is taken out of the list is missed here. */
const places = `
  .ssh .gnupg .password-store .local/share/keyrings .netrc .git-credentials .config/git/credentials
  .aws .azure .config/gcloud .kube .docker .config/containers .config/gh .config/rclone .terraform.d .vault-token
  .npmrc .yarnrc.yml .pypirc .config/pip .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml
  .gradle/gradle.properties .pgpass .my.cnf
  .mozilla .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge snap/firefox snap/chromium
`
  .trim()
  .split(/\s+/);

let user: string;
let home: string;
beforeEach(async () => {
  user = await mkdtemp("/var/tmp/caisson-folders-");
  home = await mkdtemp("/var/tmp/caisson-folders-");
});
afterEach(async () => {
  await rm(user, { recursive: true });
  await rm(home, { recursive: true });
});

const check = (path: string, role: "input" | "output" = "input") => checkFolder({ id: "data", path }, role, home);

describe("a folder that an operator names", () => {
  it("[FIL-08] is held against each of these places", () => {
    expect([...credentialPlaces].sort()).toEqual([...places].sort());
  });

  it.each(places)("[FIL-08] is refused where it is, lies in, or holds %s", async (place) => {
    const refusal = { code: "forbidden", message: expect.stringContaining("contains credentials (") };
    const path = join(user, place);
    await mkdir(join(path, "below"), { recursive: true });
    for (const named of [path, join(path, "below"), dirname(path), user])
      for (const role of ["input", "output"] as const) await expect(check(named, role)).rejects.toMatchObject(refusal);
  });

  it("is fine where names are only like theirs, or a place of them lies further down", async () => {
    for (const name of ["ssh", ".ssh2", "my.aws", ".config/gcloud-notes", "snap/firefox-esr"]) {
      const path = join(user, name);
      await mkdir(path, { recursive: true });
      await check(path);
    }
    await check(user);
    await mkdir(join(user, "data"));
    await check(join(user, "data"), "output");
  });
});
