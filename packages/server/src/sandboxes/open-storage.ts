import type { Audit } from "../core/audit.ts";
import type { Blobs } from "../core/blob.ts";
import type { Clock } from "../core/clock.ts";
import type { Feed } from "../core/feed.ts";
import type { KeptArtifactsRecords } from "../core/kept-artifacts.ts";
import type { SkillRecords } from "../core/skill.ts";
import type { SnapshotRecords } from "../core/snapshot.ts";
import { ArtifactKeeper } from "./artifact-keeper.ts";
import { Skills } from "./skills.ts";
import { Snapshots } from "./snapshots.ts";
import { Sweeper } from "./sweeper.ts";

export interface StorageParts {
  blobs: Blobs;
  snapshots: SnapshotRecords;
  skills: SkillRecords;
  artifacts: KeptArtifactsRecords;
  audit: Pick<Audit, "record">;
  feed: Pick<Feed, "publish">;
  clock: Clock;
  onError: (error: unknown) => void;
}

export interface Storage {
  snapshots: Snapshots;
  skills: Skills;
  artifacts: ArtifactKeeper;
  sweeper: Sweeper;
}

/** Snapshots, skills and artifacts over one blob store. What a former daemon left half made is swept soon. */
export function openStorage(parts: StorageParts): Storage {
  const { blobs, audit, feed, clock, onError } = parts;
  const holders = [parts.snapshots, parts.skills, parts.artifacts];
  const manifests = async () => (await Promise.all(holders.map((records) => records.manifests()))).flat();
  const sweeper = new Sweeper(blobs, manifests, onError);
  sweeper.request();
  const shared = { blobs, sweeper, audit, feed, clock };
  return {
    snapshots: new Snapshots({ ...shared, records: parts.snapshots }),
    skills: new Skills({ ...shared, records: parts.skills }),
    artifacts: new ArtifactKeeper({ ...shared, records: parts.artifacts }),
    sweeper,
  };
}
