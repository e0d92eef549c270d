import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecure } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { PolicyDraft } from "../../../packages/server/src/core/egress-policies.ts";
import type { EngineName } from "../../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../../packages/server/src/sandboxes/sandbox.ts";
import { certificate, certificateKey } from "../../egress/certificate.ts";
import { dnsHost } from "../../egress/hosts.ts";
import { openTestCaisson } from "../../harness.ts";
import { type Act, floods, forbidden, type NetworkProbe, networkProbes } from "./probes.ts";

/** For network.test.ts, in a network namespace of its own: makes every attempt and its twin, and prints what came of them as JSON. */
const program = await readFile(join(import.meta.dirname, "attempts.py"));
await using stack = new AsyncDisposableStack();

/** What hosts saw: a request's mark and Host. */
const seen: { mark: string; host: string }[] = [];
const answer: RequestListener = ({ url = "", headers }, response) => {
  if (url.startsWith("/to/")) return void response.writeHead(302, { location: url.slice(4) }).end();
  seen.push({ mark: url.slice(1), host: headers.host ?? "" });
  response.end("here");
};

async function open(server: Server): Promise<number> {
  server.listen(0, "::");
  await once(server, "listening");
  stack.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const servers = [
  createServer(answer),
  createSecure({ cert: certificate, key: certificateKey }, answer),
  createServer(answer),
];
for (const server of servers)
  server.on("upgrade", ({ url = "" }, socket) => {
    seen.push({ mark: url.slice(1), host: "" });
    socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  });
const [web = 0, tls = 0, port = 0] = await Promise.all(servers.map(open));
const datagrams = createSocket("udp6", (bytes, from) => {
  seen.push({ mark: bytes.toString("latin1"), host: "" });
  datagrams.send("here", from.port, from.address);
}).bind(web, "::");
await once(datagrams, "listening");
stack.defer(() => void datagrams.close());
const inner = { "metadata.inner.example": forbidden.metadata, "gateway.inner.example": forbidden.gateway };
const dns = stack.use(
  await dnsHost({
    ...inner,
    "own.inner.example": forbidden.own,
    "allowed.example": "127.0.0.1",
    "other.example": "127.0.0.1",
    "secret.open.example": "127.0.0.1",
  }),
);
const values: Record<string, string | number> = { web, tls, port, dns: Number(dns.address.split(":")[1]) };

interface Marked {
  id: string;
  act: (string | number)[];
}

function mark(id: string, act: Act): Marked {
  const fill = (word: string | number) => {
    if (typeof word === "number") return word;
    const whole = /^\{(\w+)\}$/.exec(word)?.[1] ?? "";
    if (values[whole] !== undefined) return values[whole];
    return word.replace(/\{(\w+)\}/g, (_, name: string) => String(name === "mark" ? id : values[name]));
  };
  return { id, act: act.map(fill) };
}

async function tryInside(sandbox: Sandbox, attempts: Marked[]): Promise<Record<string, string>> {
  await sandbox.files.write("/workspace/attempts.py", program);
  const run = await sandbox.start({ command: ["python3", "attempts.py"], stdin: `${JSON.stringify(attempts)}\n` });
  const { stdout, stderr } = await run.result;
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

async function tryOutside(attempts: Marked[]): Promise<Record<string, string>> {
  const child = spawn("python3", [join(import.meta.dirname, "attempts.py")], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(`${JSON.stringify(attempts)}\n`);
  return JSON.parse(await text(child.stdout));
}

function effectOf({ judge }: NetworkProbe, id: string, said: string): string | null {
  if (judge === "gained") return said.startsWith("GAINED") ? said : null;
  if (judge === "asked") return dns.asked.find((name) => name.includes(id)) ?? null;
  const found = seen.find(({ mark, host }) => mark.includes(id) && (judge !== "hostField" || host.startsWith("other")));
  return found === undefined ? null : `a host saw ${found.mark} for ${found.host}`;
}

const engine = process.argv[2] as EngineName;
const { caisson } = stack.use(await openTestCaisson({ network: { dnsServers: [dns.address] } }));
const ranges = ["127.0.0.0/8"];
const rule = (host: string, port: number, protocol: "http" | "tls" | "tcp", more = ranges) => ({
  host,
  port,
  protocol,
  ranges: more,
});
const confined: PolicyDraft = {
  allow: [
    rule("allowed.example", web, "http"),
    rule("allowed.example", tls, "tls"),
    rule("*.open.example", web, "http"),
    { host: "*.inner.example", port: web, protocol: "http" },
  ],
  deny: [{ host: "secret.open.example" }],
};
const free: PolicyDraft = {
  allow: [
    rule("allowed.example", web, "http"),
    rule("allowed.example", tls, "tls"),
    rule("allowed.example", port, "tcp"),
    rule("other.example", web, "http"),
    rule("other.example", tls, "tls"),
    rule("*.open.example", web, "http"),
    rule("*.inner.example", web, "http", ["169.254.0.0/16", "10.77.0.0/16", "11.12.13.0/24"]),
    { host: forbidden.metadata, port: web, protocol: "tcp" },
    { host: forbidden.metadata6, port: web, protocol: "tcp" },
  ],
};
const [prisoner, neighbour] = [
  stack.use(await caisson.createSandbox({ engine, network: confined })),
  stack.use(await caisson.createSandbox({ engine, network: free })),
];

const attempts = networkProbes.map(({ act }, index) => mark(`p${index}x`, act));
const twins = networkProbes.map(({ act, twin }, index) => ({
  where: twin.where,
  ...mark(`t${index}x`, twin.act ?? act),
}));
const said = {
  ...(await tryInside(prisoner, attempts)),
  ...(await tryInside(
    neighbour,
    twins.filter(({ where }) => where === "sandbox"),
  )),
  ...(await tryOutside(twins.filter(({ where }) => where === "host"))),
};
const judged = networkProbes.map((probe, index) => ({
  claim: probe.claim,
  effect: effectOf(probe, `p${index}x`, said[`p${index}x`] ?? ""),
  said: said[`p${index}x`],
  twin: effectOf(probe, `t${index}x`, said[`t${index}x`] ?? ""),
  twinSaid: said[`t${index}x`],
}));

/** Runs it; while it holds what it has, and afterwards, others must get through. */
async function endure(claim: string, act: Act, number: number) {
  let told = "";
  const holds = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  async function* stdin() {
    yield Buffer.from(`${JSON.stringify([{ id: "flood", act }])}\n`);
    await release.promise;
  }
  const run = await prisoner.start({
    command: ["python3", "attempts.py"],
    stdin: stdin(),
    onOutput: (_channel, chunk) => {
      told += chunk;
      holds.resolve();
      return undefined;
    },
  });
  await Promise.race([holds.promise, run.result]);
  const fetch = (id: string) => [
    mark(id, ["proxy", `GET http://allowed.example:{web}/${id} HTTP/1.1\r\nHost: x\r\n\r\n`]),
  ];
  await tryInside(neighbour, fetch(`m${number}x`));
  release.resolve();
  await run.result;
  const saw = (id: string) => seen.some(({ mark }) => mark === id);
  // Its own connections of before take a moment to be gone.
  for (let i = 0; i < 30 && !saw(`a${number}x`); i++) await tryInside(prisoner, fetch(`a${number}x`));
  const after = saw(`a${number}x`) ? null : "the sandbox itself does not get through any more";
  const effect = saw(`m${number}x`) ? after : "the neighbour did not get through";
  // What it did is worth the name.
  return { claim, effect, said: told, twin: /"done"|"held [12]\d{3}"/.exec(told)?.[0] ?? null };
}

const endured = [];
for (const [number, { claim, act }] of floods.entries()) endured.push(await endure(claim, act, number));
console.log(JSON.stringify([...judged, ...endured]));
