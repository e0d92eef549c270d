import type { Blobs } from "../core/blob.ts";
import type { Collector } from "../core/gc.ts";
import type { Recorder } from "../core/journal.ts";
import type { KeptArtifactsRecords } from "../core/kept-artifacts.ts";
import type { SkillRecords } from "../core/skill.ts";
import type { SnapshotRecords } from "../core/snapshot.ts";
import type { Clock } from "../lib/clock.ts";
import { ArtifactKeeper } from "./artifact-keeper.ts";
import { blobCollector } from "./gc/blob-collector.ts";
import { Skills } from "./skills.ts";
import { Snapshots } from "./snapshots.ts";
import { Sweeper } from "./sweeper.ts";

export interface StorageParts {
  blobs: Blobs;
  snapshots: SnapshotRecords;
  skills: SkillRecords;
  artifacts: KeptArtifactsRecords;
  journal: Recorder;
  clock: Clock;
  onError: (error: unknown) => void;
}

export interface Storage {
  snapshots: Snapshots;
  skills: Skills;
  artifacts: ArtifactKeeper;
  sweeper: Sweeper;
  /** Of what they no longer need. */
  collector: Collector;
}

/** Snapshots, skills and artifacts over one blob store. What a former daemon left half made is swept soon. */
export function openStorage(parts: StorageParts): Storage {
  const { blobs, journal, clock, onError } = parts;
  const holders = [parts.snapshots, parts.skills, parts.artifacts];
  const manifests = async () => (await Promise.all(holders.map((records) => records.manifests()))).flat();
  const sweeper = new Sweeper(blobs, manifests, onError);
  const notOver = async () => {
    const others = [parts.snapshots.manifests(), parts.skills.manifests()];
    return (await Promise.all([...others, parts.artifacts.manifests(clock.wallMs())])).flat();
  };
  sweeper.request();
  const shared = { blobs, sweeper, journal, clock };
  const artifacts = new ArtifactKeeper({ ...shared, records: parts.artifacts });
  return {
    snapshots: new Snapshots({ ...shared, records: parts.snapshots }),
    skills: new Skills({ ...shared, records: parts.skills }),
    artifacts,
    sweeper,
    collector: blobCollector({ blobs, artifacts, sweeper, manifests: notOver }),
  };
}
