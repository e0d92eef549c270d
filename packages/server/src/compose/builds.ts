/** Builds of images, templates and servers, and installations of packages. All of them happen in sandboxes, and so above the fleet. */
import { arch } from "node:os";
import { join } from "node:path";
import { noApt } from "../core/apt.ts";
import type { CreateSandbox } from "../core/fleet.ts";
import type { EnsureImage } from "../core/image-record.ts";
import type { LayerBuilder } from "../core/layer-builder.ts";
import { FirstUse } from "../images/first-use.ts";
import { ImageBuilds } from "../images/image-builds.ts";
import { buildLimits } from "../images/limits.ts";
import { forgetPackages } from "../package-install/forget-packages.ts";
import { Packages } from "../package-install/packages.ts";
import { noRegistries } from "../package-install/read-registries.ts";
import { OciImages } from "../registries/oci-images.ts";
import { platformOf } from "../registries/platform.ts";
import type { ServerBuilder } from "../servers/build-server.ts";
import { TemplateBuilds } from "../templates/template-builds.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Egress } from "./egress.ts";
import { openLayerBuilder } from "./layer-builder.ts";
import type { Sandboxes } from "./sandboxes.ts";
import { openServerBuilder } from "./server-builder.ts";
import type { ServiceParts } from "./service-parts.ts";
import type { Stores } from "./store.ts";

export interface Builds {
  layers: LayerBuilder;
  imageBuilds: ImageBuilds;
  oci: OciImages;
  /** Creates sandboxes; an image that is missing is made first. */
  create: CreateSandbox;
  /** Makes an image that is missing, where it can be made. */
  ensureImage: EnsureImage;
  packages: Packages;
  templateBuilds: TemplateBuilds;
  serverBuilder: ServerBuilder;
}

type Below = Pick<Stores, "store" | "journal" | "vault"> &
  Pick<Egress, "downloads"> &
  Pick<Catalogue, "images" | "requestable" | "templates"> &
  Pick<Sandboxes, "caisson" | "fleet">;
type Parts = Pick<ServiceParts, "folder" | "settings" | "packages" | "clock" | "onError">;

export async function openBuilds(
  opened: AsyncDisposableStack,
  { store, journal, vault, downloads, images, requestable, templates, caisson, fleet }: Below,
  { folder, settings, clock, onError, ...parts }: Parts,
): Promise<Builds> {
  const { registries = noRegistries, findRegistries = async () => registries } = parts.packages ?? {};
  const { mustPin = false, apt = noApt, imageRegistries = [] } = parts.packages ?? {};
  const keepsFiles = downloads !== undefined;
  const layers = openLayerBuilder({ caisson, fleet, engine: settings.engine });
  const imageBuilds = opened.use(
    await ImageBuilds.open({
      ...{ images, layers, fleet, journal, apt, registries, keepsFiles, clock, onError },
      folder: join(folder, "images"),
      needed: () => templates.layerIds(),
    }),
  );
  const oci = await OciImages.open({
    folder: join(folder, "oci"),
    images: imageBuilds,
    way: caisson.registryWay(imageRegistries),
    lend: (caller, secret, registry) => vault.lend(caller, secret, registry),
    platform: platformOf(arch()),
    onError,
  });
  const firstUse = new FirstUse({
    ...{ images, requestable, builds: imageBuilds, clock },
    pull: (caller, reference) => oci.pull(caller, { reference }),
  });
  const ensureImage: EnsureImage = (caller, image) => firstUse.ensure(caller, image);
  const create: CreateSandbox = (caller, request) => fleet.create(caller, request, ensureImage);
  const packages = new Packages({
    ...{ fleet, journal, mustPin, keepsFiles, clock },
    registries: findRegistries,
    open: (id, hosts, how) => caisson.openRegistry(id, hosts, how),
    records: store.packages,
  });
  opened.use(forgetPackages(journal, store.packages, (id) => fleet.namespaceOf(id) !== undefined, onError));
  const templateBuilds = opened.use(
    new TemplateBuilds({
      ...{ templates, create, fleet, bench: fleet.bench, layers, journal, clock, onError },
      install: (caller, sandboxId, request) => packages.install(caller, sandboxId, request),
    }),
  );
  const serverBuilder = openServerBuilder(findRegistries, { layers, fleet });
  const sweeping = setInterval(() => void imageBuilds.sweep().catch(onError), buildLimits.sweepEveryMs).unref();
  opened.defer(() => clearInterval(sweeping));
  return { layers, imageBuilds, oci, create, ensureImage, packages, templateBuilds, serverBuilder };
}
