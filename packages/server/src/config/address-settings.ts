import { portLimits } from "../http/limits.ts";
import { supervisionLimits } from "../supervision/limits.ts";

/** Settings of the addresses that the daemon listens on, and of the names that clients use for it. */
export const addressSettings = {
  port: {
    type: "number",
    range: supervisionLimits.port,
    whole: true,
    env: "CAISSON_PORT",
    help: "port that the daemon listens on",
  },
  listen: {
    type: "address",
    default: "127.0.0.1",
    env: "CAISSON_LISTEN",
    help: "IP address that the daemon listens on",
  },
  listen_without_tls: {
    type: "boolean",
    default: false,
    env: "CAISSON_LISTEN_WITHOUT_TLS",
    help: "allow a listen address that other machines can reach without TLS; keys and files then cross the network unencrypted",
  },
  "tls.cert_file": {
    type: "path",
    default: null,
    env: "CAISSON_TLS_CERT_FILE",
    help: "certificate of the daemon (PEM), with its chain; makes the daemon serve HTTPS",
  },
  "tls.key_file": {
    type: "path",
    default: null,
    env: "CAISSON_TLS_KEY_FILE",
    help: "private key of the certificate (PEM, without a passphrase)",
  },
  public_url: {
    type: "url",
    default: null,
    env: "CAISSON_PUBLIC_URL",
    help: "address that clients use for the daemon, for links and signed URLs: https://caisson.example.com; none: the listen address",
  },
  trusted_proxies: {
    type: "networks",
    default: [],
    env: "CAISSON_TRUSTED_PROXIES",
    help: "IP addresses and networks of proxies whose X-Forwarded-Proto and X-Forwarded-Host headers are used: 127.0.0.1, 10.0.0.0/24",
  },
  "ports.port": {
    type: "number",
    range: portLimits.listen,
    whole: true,
    env: "CAISSON_PORTS_PORT",
    help: "loopback port that serves ports of sandboxes to browsers; 0: the daemon's port plus 1",
  },
  hosts: {
    type: "list",
    default: [],
    env: "CAISSON_HOSTS",
    help: "host names, besides localhost, that clients may use for the daemon",
  },
  origins: {
    type: "list",
    default: [],
    env: "CAISSON_ORIGINS",
    help: "origins of web pages that may call the daemon",
  },
} as const;
