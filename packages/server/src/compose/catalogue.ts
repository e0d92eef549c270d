/** Images and templates by their records. The fleet reads them, builds change them. */
import type { LayerId } from "../core/layer.ts";
import { Images } from "../images/images.ts";
import { RequestableImages } from "../images/requestable-images.ts";
import { findPullable, readPullPlace } from "../registries/pull-places.ts";
import { ServerBook } from "../servers/server-book.ts";
import { Templates } from "../templates/templates.ts";
import type { ServiceParts } from "./service-parts.ts";
import type { Stores } from "./store.ts";

export interface Catalogue {
  images: Images;
  /** Images that a sandbox may ask for, including those that asking makes. */
  requestable: RequestableImages;
  templates: Templates;
  /** Hosted servers and their versions. */
  serverBook: ServerBook;
  /** Layers that records name. Every kind of record that names layers has its place here: a layer that none of them names is removed. */
  named: readonly (() => readonly LayerId[])[];
}

export async function openCatalogue(
  { store, journal }: Pick<Stores, "store" | "journal">,
  { packages }: Pick<ServiceParts, "packages">,
): Promise<Catalogue> {
  const { catalogue = [], pulls = [], makesCatalogue = false } = packages ?? {};
  const images = await Images.open({ records: store.images, catalogue, journal });
  const places = pulls.map(readPullPlace);
  const requestable = new RequestableImages({
    images,
    pullable: (image) => findPullable(image, places),
    makesCatalogue,
  });
  const templates = await Templates.open({ records: store.templates, journal });
  const serverBook = await ServerBook.open({ records: store.servers, journal });
  const named = [() => images.layerIds(), () => templates.layerIds(), () => serverBook.layerIds()];
  return { images, requestable, templates, serverBook, named };
}
