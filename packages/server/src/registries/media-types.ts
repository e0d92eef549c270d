const oci = "application/vnd.oci.image";
const docker = "application/vnd.docker";

export const indexTypes = [`${oci}.index.v1+json`, `${docker}.distribution.manifest.list.v2+json`];
export const manifestTypes = [`${oci}.manifest.v1+json`, `${docker}.distribution.manifest.v2+json`];

/** Of layers; which compression one has is seen from its first bytes. */
export const layerTypes = [
  `${oci}.layer.v1.tar`,
  `${oci}.layer.v1.tar+gzip`,
  `${oci}.layer.v1.tar+zstd`,
  `${docker}.image.rootfs.diff.tar`,
  `${docker}.image.rootfs.diff.tar.gzip`,
  `${docker}.image.rootfs.diff.tar.zstd`,
];
