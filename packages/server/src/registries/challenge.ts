/** What a registry wants of whoever it does not know. */
export interface Challenge {
  scheme: "basic" | "bearer";
  realm: string | null;
  service: string | null;
}

/** `Bearer realm="https://auth.example.com/token",service="registry.example.com",scope="…"`; undefined when it is neither. */
export function readChallenge(header: string | string[] | undefined): Challenge | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  const [, scheme = "", rest = ""] = /^(basic|bearer)(?:\s+(.*))?$/is.exec(text?.slice(0, 4_096) ?? "") ?? [];
  if (scheme === "") return undefined;
  const values = new Map(
    [...rest.matchAll(/([a-z]+)="([^"]*)"/gi)].map(([, key = "", value = ""]) => [key.toLowerCase(), value]),
  );
  return {
    scheme: scheme.toLowerCase() === "basic" ? "basic" : "bearer",
    realm: values.get("realm") ?? null,
    service: values.get("service") ?? null,
  };
}
