/** Settings of where images come from. */
export const imageSettings = {
  "images.apt": {
    type: "list",
    default: [],
    env: "CAISSON_IMAGES_APT",
    help: "lines of sources.list that images are made from; unless given this machine's own, with Debian 13 in place of older releases",
  },
  "images.on_first_use": {
    type: "boolean",
    default: true,
    env: "CAISSON_IMAGES_ON_FIRST_USE",
    help: "whether an image of the catalogue is made when a sandbox first asks for it; without it administrators import them",
  },
  "images.pull": {
    type: "list",
    default: [],
    env: "CAISSON_IMAGES_PULL",
    help: "registries, or repositories of them, whose images are pulled when a sandbox first asks for them: docker.io, docker.io/library/python, ghcr.io/owner",
  },
  "images.registries": {
    type: "list",
    default: [],
    env: "CAISSON_IMAGES_REGISTRIES",
    help: "registries of this machine and its networks that images may be pulled from: registry.example.com, or http://127.0.0.1:5000 without TLS",
  },
} as const;
