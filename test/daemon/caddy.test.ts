import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { engines } from "../harness.ts";
import { TestAuthority } from "../http/certificates.ts";
import { Caddy, findNoCaddy } from "./caddy.ts";
import { freePort, Up, upTimeoutMs } from "./up.ts";

const noCaddy = findNoCaddy();
const [engine = "container"] = engines;

it.skipIf(noCaddy !== undefined)(
  `[IDN-09] [S111] the set-up link, a stream, a signed URL and a terminal work through Caddy${noCaddy ? `: ${noCaddy}` : ""}`,
  { timeout: upTimeoutMs },
  async () => {
    const folder = await mkdtemp("/var/tmp/caisson-caddy-");
    const authority = new TestAuthority();
    const port = await freePort();
    const own = `https://caisson.example.com:${port}`;
    const other = `https://other.example.com:${port}`;
    await using up = await Up.start({
      variables: {
        CAISSON_PUBLIC_URL: own,
        CAISSON_HOSTS: "other.example.com",
        CAISSON_TRUSTED_PROXIES: "127.0.0.1",
      },
    });
    const target = new URL((await up.status()).address).host;
    const pem = authority.issue("*.example.com");
    const names = ["caisson.example.com", "other.example.com"];
    await using _caddy = await Caddy.open({ folder, names, port, target, ...pem });

    const open = (method: string, url: string, headers: Record<string, string> = {}, body?: string) => {
      const { host, hostname: servername, pathname, search } = new URL(url);
      const options = {
        host: "127.0.0.1",
        port,
        servername,
        ca: authority.certificate,
        method,
        path: pathname + search,
      };
      return request({ ...options, headers: { host, ...headers } }).end(body);
    };
    const ask = async (...given: Parameters<typeof open>) => {
      const [response] = (await once(open(...given), "response")) as [IncomingMessage];
      return { status: response.statusCode, headers: response.headers, text: await text(response) };
    };

    const link = /https:\S+\/setup\?token=\S+/.exec(up.said)?.[0] ?? "";
    expect(link.startsWith(`${own}/setup?token=`)).toBe(true);
    expect((await ask("GET", link)).text).toContain("<form");
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await ask("POST", link, { ...form, origin: "https://evil.example" })).status).toBe(403);
    const page = await ask("POST", link, { ...form, origin: own, accept: "text/html" });
    const key = { "x-api-key": /<code>([^<]+)<\/code>/.exec(page.text)?.[1] ?? "" };
    const json = { ...key, "content-type": "application/json" };

    // What a client says of itself Caddy replaces, and what Caddy says counts.
    const forged = { "x-forwarded-proto": "http", "x-forwarded-host": "evil.example" };
    expect((await ask("GET", `${other}/api/v1/queue`, { ...key, ...forged, origin: other })).status).toBe(200);

    const made = await ask("POST", `${own}/api/v1/sandboxes`, json, JSON.stringify({ engine }));
    const at = `${own}/api/v1/sandboxes/${JSON.parse(made.text).id}`;
    const command = "echo begun; sleep 0.2; echo kept | tee note";
    const stream = await ask("POST", `${at}/exec`, json, JSON.stringify({ command, stream: true }));
    expect(stream.text).toMatch(/begun[\s\S]*kept[\s\S]*"type":"result"/);
    const signed = await ask("POST", `${at}/signed-urls`, json, JSON.stringify({ method: "GET", path: "note" }));
    const { url } = JSON.parse(signed.text);
    expect(url.startsWith(`${own}/api/v1/signed/`)).toBe(true);
    expect((await ask("GET", url)).text).toBe("kept\n");
    const socket = { "sec-websocket-version": "13", "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", origin: own };
    const upgrade = open("GET", `${at}/terminal`, { ...key, ...socket, connection: "Upgrade", upgrade: "websocket" });
    const [answer, terminal] = (await once(upgrade, "upgrade")) as [IncomingMessage, NodeJS.ReadWriteStream];
    expect(answer.statusCode).toBe(101);
    terminal.end();
    expect((await ask("DELETE", at, key)).status).toBe(204);
    await rm(folder, { recursive: true });
  },
);
