/** Clears the data folder: of what the last daemon left, and from then on of what nothing uses. */
import type { Collector } from "../core/gc.ts";
import type { LayerId } from "../core/layer.ts";
import { imageCollector } from "../images/image-collector.ts";
import { checkpointCollector } from "../sandboxes/gc/checkpoint-collector.ts";
import { GarbageCollection } from "../sandboxes/gc/collection.ts";
import { downloadCollector } from "../sandboxes/gc/download-collector.ts";
import { formerLayers } from "../sandboxes/gc/former-layers.ts";
import { isOld, layerCollector } from "../sandboxes/gc/layer-collector.ts";
import { Watermark } from "../sandboxes/gc/watermark.ts";
import { diskRoom } from "../store/disk-room.ts";
import type { Builds } from "./builds.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Egress } from "./egress.ts";
import type { Sandboxes } from "./sandboxes.ts";
import type { ServiceParts } from "./service-parts.ts";
import type { Stores } from "./store.ts";

type Below = Pick<Stores, "store" | "journal" | "storage"> &
  Pick<Egress, "downloads"> &
  Pick<Catalogue, "images" | "templates" | "named"> &
  Pick<Sandboxes, "fleet"> &
  Pick<Builds, "layers" | "imageBuilds" | "templateBuilds">;
type Parts = Pick<
  ServiceParts,
  "folder" | "settings" | "packages" | "leavesLayers" | "gcWatermarkPercent" | "clock" | "onError"
>;

export async function openCollection(
  opened: AsyncDisposableStack,
  below: Below,
  { folder, settings, clock, onError, leavesLayers = false, ...parts }: Parts,
): Promise<GarbageCollection> {
  const { store, journal, storage, downloads, images, templates, named, layers } = below;
  const former = leavesLayers ? null : await formerLayers(layers, onError);
  const swept = sweep(below, former).catch(onError);
  opened.defer(() => swept);
  const mostBytes = parts.packages?.keepBytes ?? 0;
  const collectors: Collector[] = [
    storage.collector,
    ...(downloads === undefined ? [] : [downloadCollector(downloads, { mostBytes })]),
    imageCollector({
      ...{ images, builds: below.imageBuilds, layers, usual: settings.image },
      needed: () => templates.layerIds(),
    }),
    checkpointCollector(store.checkpoints),
    ...(leavesLayers
      ? []
      : [layerCollector({ layers, named, elsewhere: () => images.layerIds(), isSettled: isOld(clock) })]),
  ];
  const disk = () => diskRoom(folder);
  const collection = new GarbageCollection({ collectors, disk, journal, onError });
  opened.defer(() => collection.settled());
  const { gcWatermarkPercent: watermarkPercent = 100 } = parts;
  if (watermarkPercent < 100) opened.use(new Watermark({ collection, disk, watermarkPercent, clock, onError }));
  return collection;
}

/** Removes builds that became no image or template, then layers that were there before and that no record names. */
async function sweep(
  { fleet, imageBuilds, templateBuilds, layers, named }: Below,
  former: ReadonlySet<LayerId> | null,
): Promise<void> {
  await fleet.swept;
  await Promise.all([imageBuilds.sweep(), templateBuilds.sweep()]);
  if (former !== null) await layerCollector({ layers, named, isSettled: ({ id }) => former.has(id) }).collect(0);
}
