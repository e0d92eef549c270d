import { once } from "node:events";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { CertificatePem } from "../../packages/server/src/core/certificate.ts";
import { TestAuthority } from "../http/certificates.ts";
import { caisson, Up, upTimeoutMs } from "./up.ts";

const authority = new TestAuthority();
const soon = { timeout: 30_000, interval: 50 };
const nearly = { timeout: upTimeoutMs, interval: 50 };

describe("a daemon with TLS", { timeout: upTimeoutMs }, () => {
  let folder: string;
  let files: { CAISSON_TLS_CERT_FILE: string; CAISSON_TLS_KEY_FILE: string };
  let up: Up;
  /** Sends a part of its headers and no more. */
  let slow: TLSSocket;
  beforeAll(async () => {
    setDefaultCACertificates([authority.certificate]);
    folder = await mkdtemp("/var/tmp/caisson-tls-");
    files = { CAISSON_TLS_CERT_FILE: join(folder, "cert.pem"), CAISSON_TLS_KEY_FILE: join(folder, "key.pem") };
    await writeFile(join(folder, "ca.pem"), authority.certificate);
    await write(authority.issue("127.0.0.1"));
    up = await Up.start({ variables: files });
    slow = await open();
    slow.write("GET / HTTP/1.1\r\nX-Slow: ");
  }, upTimeoutMs);
  afterAll(async () => {
    await up[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  }, upTimeoutMs);

  /** As certbot does: each file whole. */
  async function write({ cert, key }: CertificatePem): Promise<void> {
    for (const [path, pem] of [
      [files.CAISSON_TLS_CERT_FILE, cert],
      [files.CAISSON_TLS_KEY_FILE, key],
    ] as const) {
      await writeFile(`${path}.new`, pem, { mode: 0o600 });
      await rename(`${path}.new`, path);
    }
  }

  async function open(): Promise<TLSSocket> {
    const socket = connect({ port: Number(new URL(up.base).port), host: "127.0.0.1" });
    await once(socket, "secureConnect");
    return socket;
  }

  /** The certificate that a new connection gets. */
  async function served(): Promise<string> {
    const socket = await open();
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  }

  const problem = async () => (await up.status()).certificate?.problem;

  it("[IDN-09] [S109] answers over HTTPS, and local commands go on over the Unix socket", async () => {
    expect(up.said).toContain(`Caisson listens on ${up.base}\n`);
    expect(up.said).toContain(`${up.base}/setup?token=`);
    expect(up.base).toMatch(/^https:/);
    expect((await up.fetch("/api/v1/sandboxes")).status).toBe(200);
    await expect(fetch(up.base.replace("https", "http"))).rejects.toThrow();
    expect(await caisson(["ls", "--json"], up.variables)).toMatchObject({ code: 0, stdout: "[]\n" });
  });

  it("is used by commands of other machines that trust its authority, by Node's variable or the system", async () => {
    const key = (await readFile(join(up.home, "admin-key"), "utf8")).trim();
    const ls = (more: object) => caisson(["ls", "--json"], { CAISSON_URL: up.base, CAISSON_API_KEY: key, ...more });
    const refused = await ls({});
    expect(refused).toMatchObject({ code: 125, stdout: "" });
    expect(refused.stderr).toContain("its certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)");
    for (const variable of ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"])
      expect(await ls({ [variable]: join(folder, "ca.pem") }), variable).toMatchObject({ code: 0, stdout: "[]\n" });
  });

  it("[S109] shows its key in no setting, status or log, and no child process has it in its arguments or variables", async () => {
    const secret = (await readFile(files.CAISSON_TLS_KEY_FILE, "utf8")).split("\n")[1] ?? "";
    expect(secret.length).toBeGreaterThan(40);
    const shown = [
      (await caisson(["config", "--json"], up.variables)).stdout,
      (await caisson(["status", "--json"], up.variables)).stdout,
      await (await up.fetch("/api/v1/config")).text(),
    ];
    for (const one of shown) expect(one).toMatch(/cert/);
    const { daemon, engine } = await up.status();
    for (const pid of [daemon?.pid, engine?.pid])
      for (const file of ["cmdline", "environ"]) shown.push(await readFile(`/proc/${pid}/${file}`, "utf8"));
    for (const one of shown) expect(one).not.toContain(secret);
  });

  it("[IDN-09] [S109] takes a new certificate without a restart, and an open stream goes on", async () => {
    const [before, first] = [await up.status(), await served()];
    const stream = await up.fetch("/api/v1/events");
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    await write(authority.issue("127.0.0.1"));
    await vi.waitFor(async () => expect(await served()).not.toBe(first), soon);
    expect((await up.fetch("/api/v1/keys", { name: "later", role: "viewer" })).status).toBe(201);
    let seen = "";
    while (!seen.includes("key.created")) seen += (await reader?.read())?.value;
    await reader?.cancel();
    expect(await up.status()).toMatchObject({ restarts: 0, daemon: before.daemon, certificate: { problem: null } });
  });

  it("[S109] ends a connection whose headers do not come", async () => {
    expect(await text(slow)).toMatch(/^HTTP\/1.1 408 /);
  });

  it("[IDN-09] [S109] keeps its certificate while the new files cannot be used, also over a restart of the daemon", async () => {
    const good = await served();
    const broken = { ...authority.issue("127.0.0.1"), key: authority.issue("127.0.0.1").key };
    for (const [files, words] of [
      [{ cert: "nothing", key: "nothing" }, /is not a certificate in PEM$/],
      [broken, /does not belong to the certificate/],
      [authority.issue("127.0.0.1", -1), /expired at/],
    ] as const) {
      await write(files);
      await vi.waitFor(async () => expect(await problem()).toMatch(words), soon);
      expect(await served()).toBe(good);
    }
    const status = await up.status();
    process.kill(status.daemon?.pid ?? 0, "SIGKILL");
    await up.waitForRestart(status);
    await vi.waitFor(async () => expect(await served()).toBe(good), nearly);
    expect((await caisson(["status"], up.variables)).stdout).toMatch(/^warning: TLS certificate .*cannot be used/m);
    await write(authority.issue("127.0.0.1", 13));
    await vi.waitFor(async () => expect(await problem()).toBeNull(), soon);
    expect(await served()).not.toBe(good);
    expect((await caisson(["status"], up.variables)).stdout).toMatch(
      /^warning: TLS certificate expires at \S+, in 12 days$/m,
    );
    const { checks } = JSON.parse((await caisson(["doctor", "--json"], up.variables)).stdout);
    expect(checks).toContainEqual(expect.objectContaining({ name: "TLS certificate", state: "warning" }));
  });

  it("does not start with files that cannot be used", async () => {
    const home = await mkdtemp("/var/tmp/caisson-up-");
    const none = { ...files, CAISSON_TLS_KEY_FILE: join(folder, "none.pem"), CAISSON_HOME: home };
    const refused = await caisson(["up"], { ...up.variables, ...none });
    await rm(home, { recursive: true });
    expect(refused).toMatchObject({ code: 125, stdout: "" });
    expect(refused.stderr).toContain(`tls.key_file: cannot read ${folder}/none.pem: ENOENT`);
  });
});
