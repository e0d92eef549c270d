import { z } from "zod";
import {
  type ServerSource,
  type ServerVersion,
  serverEras,
  serverTransports,
  type VersionDifference,
  versionStates,
} from "../core/server.ts";
import { serverRequestLimits } from "../http/limits.ts";
import { serverId } from "./server.ts";
import { written } from "./written.ts";

const number = written(z.number().int().min(1).max(serverRequestLimits.versionNumber));

export const versionId = serverId.extend({ version: number.describe("number of the version") });
export const diffQuery = z.strictObject({ from: number, to: number });
export const rollbackBody = z
  .strictObject({
    data: z.boolean().default(false).describe("restore /data as it was when the version was replaced"),
  })
  .meta({ id: "RollBackServer" });

const source = z.object({
  kind: z.enum(["archive", "npm", "pypi", "remote"]),
  package: z.string().nullable(),
  version: z.string().nullable().describe("null until the build has found the newest one"),
  url: z.string().nullable(),
});

const contact = z.object({
  transport: z.enum(serverTransports),
  era: z.enum(serverEras).describe("legacy: protocol versions up to 2025-11-25; modern: from 2026-07-28"),
  protocol_version: z.string(),
  path: z.string().describe("path of an HTTP server's endpoint"),
  tools: z.number().int(),
});

const resolvedPackage = z.object({
  manager: z.string(),
  name: z.string(),
  version: z.string(),
  sha256: z.string().nullable(),
  claimed: z.boolean().describe("true if only the installer reports it"),
});

export const serverVersion = z
  .object({
    number: z.number().int(),
    state: z.enum(versionStates),
    step: z.string().nullable().describe("current or failed step"),
    error: z.string().nullable(),
    held: z.boolean().describe("true: it runs without secrets until an operator confirms it"),
    source,
    source_digest: z.string(),
    inputs_digest: z.string().describe("digest of all inputs of the build"),
    image: z.string().nullable(),
    bytes: z.number().int(),
    command: z.array(z.string()).describe("what the build found to start it with"),
    contact: contact.nullable().describe("how the server is spoken to; null until it passed its check"),
    packages: z.number().int().describe("number of packages that the build installed"),
    has_data: z.boolean().describe("true if a rollback can restore its /data"),
    created_at: z.iso.datetime(),
    created_by: z.string(),
  })
  .meta({ id: "ServerVersion" });

export const serverVersionDetail = serverVersion
  .extend({ resolved: z.array(resolvedPackage).describe("packages that the build installed") })
  .meta({ id: "ServerVersionDetail" });

export const versionDiff = z.array(
  z.object({ field: z.string(), from: z.string(), to: z.string() }).meta({ id: "ServerVersionDifference" }),
);

function showSource(given: ServerSource): z.output<typeof source> {
  const named = given.kind === "npm" || given.kind === "pypi";
  return {
    kind: given.kind,
    package: named ? given.package : null,
    version: named && given.version !== "" ? given.version : null,
    url: given.kind === "remote" ? given.url : null,
  };
}

export function showVersion(version: ServerVersion): z.output<typeof serverVersion> {
  const { number, state, step, error, held, sourceDigest, inputsDigest, image, bytes, command } = version;
  return {
    ...{ number, state, step, error, held, bytes },
    source: showSource(version.source),
    source_digest: sourceDigest,
    inputs_digest: inputsDigest,
    image: image?.name ?? null,
    command: [...command],
    contact: showContact(version),
    packages: version.packages.length,
    has_data: version.dataSnapshotId !== null,
    created_at: new Date(version.createdAtMs).toISOString(),
    created_by: version.createdBy,
  };
}

function showContact({ contact: found }: ServerVersion): z.output<typeof contact> | null {
  if (found === null) return null;
  const { transport, era, protocolVersion, path, tools } = found;
  return { transport, era, protocol_version: protocolVersion, path, tools };
}

export function showVersionDetail(version: ServerVersion): z.output<typeof serverVersionDetail> {
  return { ...showVersion(version), resolved: version.packages.map((one) => ({ ...one })) };
}

export function showDifferences(found: readonly VersionDifference[]): z.output<typeof versionDiff> {
  return found.map(({ field, from, to }) => ({ field, from, to }));
}
