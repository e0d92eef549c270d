/** All that a daemon keeps and knows, without its doors and its process. Read it from top to bottom: each part is made of those before it. */
import type { Validation } from "../core/validation.ts";
import type { GarbageCollection } from "../sandboxes/gc/collection.ts";
import { CodeAndDataValidation } from "../validation/validation.ts";
import type { Web } from "../web/web.ts";
import { type Builds, openBuilds } from "./builds.ts";
import { type Catalogue, openCatalogue } from "./catalogue.ts";
import { openCollection } from "./collection.ts";
import { type Egress, openEgress } from "./egress.ts";
import { openSandboxes, type Sandboxes } from "./sandboxes.ts";
import { type HostedParts, openServers } from "./servers.ts";
import type { ServiceParts } from "./service-parts.ts";
import { openStores, type Stores } from "./store.ts";
import { openWeb } from "./web.ts";

export interface Service extends Stores, Egress, Catalogue, Sandboxes, Builds, HostedParts, AsyncDisposable {
  collection: GarbageCollection;
  web: Web;
  validation: Validation;
}

export async function openService(parts: ServiceParts): Promise<Service> {
  await using opened = new AsyncDisposableStack();
  const stores = await openStores(opened, parts);
  const egress = await openEgress(opened, stores, parts);
  const catalogue = await openCatalogue(stores, parts);
  const sandboxes = await openSandboxes(opened, { ...stores, ...egress, ...catalogue }, parts);
  const below = { ...stores, ...egress, ...catalogue, ...sandboxes };
  const builds = await openBuilds(opened, below, parts);
  const hosted = await openServers(opened, { ...below, ...builds }, parts);
  const collection = await openCollection(opened, { ...below, ...builds }, parts);
  const web = openWeb(below, parts);
  const validation = opened.use(new CodeAndDataValidation());
  const kept = opened.move();
  return {
    ...below,
    ...builds,
    ...hosted,
    collection,
    web,
    validation,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
