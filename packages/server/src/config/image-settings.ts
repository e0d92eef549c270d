/** Settings of image sources. */
export const imageSettings = {
  "images.apt": {
    type: "list",
    default: [],
    env: "CAISSON_IMAGES_APT",
    help: "sources.list lines that images are built from; none: those of this machine, with Debian 13 in place of older releases",
  },
  "images.on_first_use": {
    type: "boolean",
    default: true,
    env: "CAISSON_IMAGES_ON_FIRST_USE",
    help: "build an image of the catalogue when a sandbox first needs it; if false, administrators must import it",
  },
  "images.pull": {
    type: "list",
    default: [],
    env: "CAISSON_IMAGES_PULL",
    help: "registries or repositories whose images are pulled when a sandbox first needs them: docker.io, docker.io/library/python, ghcr.io/owner",
  },
  "images.registries": {
    type: "list",
    default: [],
    env: "CAISSON_IMAGES_REGISTRIES",
    help: "registries on this machine and private networks that images may be pulled from: registry.example.com, or http://127.0.0.1:5000 without TLS",
  },
} as const;
