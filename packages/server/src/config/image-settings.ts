/** Settings of where images come from. */
export const imageSettings = {
  "images.registries": {
    type: "list",
    default: [],
    env: "CAISSON_IMAGES_REGISTRIES",
    help: "registries of this machine and its networks that images may be pulled from: registry.example.com, or http://127.0.0.1:5000 without TLS",
  },
} as const;
