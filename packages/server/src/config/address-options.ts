import { isIPv6 } from "node:net";
import { AppError } from "../core/errors.ts";
import { networkList } from "../lib/network-list.ts";
import type { Configuration } from "./config.ts";

const isLoopback = networkList(["127.0.0.0/8", "::1"]);
/** Addresses that stand for every address of this machine. */
const isAny = networkList(["0.0.0.0", "::"]);

/** Host of a URL. */
const urlHost = (address: string) => (isIPv6(address) ? `[${address}]` : address);

type Given = Pick<Configuration, "settings" | "origins">;

interface CertificatePaths {
  certFile: string;
  keyFile: string;
}

function certificateOptions({ settings, origins }: Given): CertificatePaths | null {
  const { "tls.cert_file": certFile, "tls.key_file": keyFile } = settings;
  if (certFile !== null && keyFile !== null) return { certFile, keyFile };
  if (certFile === null && keyFile === null) return null;
  const [given, missing] = certFile === null ? (["key", "cert"] as const) : (["cert", "key"] as const);
  throw new AppError(
    "invalid",
    `${origins[`tls.${given}_file`]}: tls.${given}_file requires tls.${missing}_file, which is not set`,
  );
}

/** Addresses of the daemon. Refuses plain HTTP on an address that other machines can reach, unless listen_without_tls allows it (S110). */
export function addressOptions(configuration: Given) {
  const { settings } = configuration;
  const { listen: host, port, listen_without_tls: isPlainAllowed, public_url: publicUrl } = settings;
  const certificate = certificateOptions(configuration);
  if (certificate === null && !isPlainAllowed && !isLoopback(host))
    throw new AppError(
      "forbidden",
      `cannot listen on ${host}: other machines can reach it, and TLS is not configured`,
      {
        hint: "set tls.cert_file and tls.key_file, listen on 127.0.0.1 behind a TLS proxy, or set listen_without_tls: true on a trusted network",
      },
    );
  const scheme = certificate === null ? "http" : "https";
  const isWildcard = isAny(host);
  return {
    listen: { host, port },
    certificate,
    address: `${scheme}://${urlHost(host)}:${port}`,
    /** Start of links that are shown to people. */
    linkBase: publicUrl ?? `${scheme}://${isWildcard ? "localhost" : urlHost(host)}:${port}`,
    publicUrl,
    hosts: isWildcard ? settings.hosts : [...settings.hosts, urlHost(host)],
    trustedProxies: settings.trusted_proxies,
  };
}
