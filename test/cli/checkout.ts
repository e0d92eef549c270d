import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { checkoutFiles } from "../checkout-files.ts";
import { root } from "../harness.ts";
import { runOnHost, type Seen } from "../security/host-run.ts";

/** Neither Go nor pip finds anything to build with, whatever the network is. */
const nothingToFetch = ["PIP_NO_INDEX=1", "GOPROXY=off", "GOTOOLCHAIN=local"];

/** A copy of this checkout, built, in a folder that only its owner may pass. */
export class Checkout implements AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  /** For what is kept between checkouts. */
  readonly cache: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.path = join(folder, "checkout");
    this.cache = join(folder, "cache");
  }

  static async copy(): Promise<Checkout> {
    const checkout = new Checkout(await mkdtemp("/var/tmp/caisson-test-"));
    await mkdir(checkout.path);
    await mkdir(join(checkout.cache, "caisson"), { recursive: true, mode: 0o700 });
    // With the times of files and folders: by them the launcher tells that nothing is to be built.
    const done = await runOnHost(["/bin/cp", "-a", "--parents", ...checkoutFiles, checkout.path], { cwd: root });
    if (done.exitCode !== 0) throw new Error(done.stderr);
    await symlink(join(root, "node_modules"), join(checkout.path, "node_modules"));
    return checkout;
  }

  get runsc(): string {
    return join(this.path, ".build/bin/runsc");
  }

  /** What a checkout of the same sources kept. */
  async keep(digest: string): Promise<string> {
    const kept = join(this.cache, "caisson", `runsc-${digest}`);
    await cp(join(root, ".build/bin/runsc"), kept);
    return kept;
  }

  /** By a shell, whose words are the command; with the kept ones of other checkouts, and without. */
  run(
    words: readonly string[],
    { cache = true, before = "", path = "/usr/bin:/bin", more = [""] } = {},
  ): Promise<Seen> {
    const given = [...nothingToFetch, `CAISSON_HOME=${join(this.folder, "home")}`, ...more.filter(Boolean)];
    const variables = [`PATH=${path}`, ...given, ...(cache ? [`XDG_CACHE_HOME=${this.cache}`] : [])];
    const shell = before === "" ? [] : ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", `${before}\nexec "$@"`, "sh"];
    return runOnHost([...shell, "/usr/bin/env", "-i", ...variables, ...words], { cwd: this.path, timeoutMs: 60_000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
