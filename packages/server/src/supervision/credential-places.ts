/** What no sandbox may be given, whoever asks for it in a configuration (S41). */

/** Of a home folder: a path with one of these in it is refused, and so is a folder that holds one. */
export const credentialPlaces: readonly string[] = [
  // keys of shells and mail
  ".ssh",
  ".gnupg",
  ".password-store",
  ".local/share/keyrings",
  ".netrc",
  ".git-credentials",
  ".config/git/credentials",
  // clouds and clusters
  ".aws",
  ".azure",
  ".config/gcloud",
  ".kube",
  ".docker",
  ".config/containers",
  ".config/gh",
  ".config/rclone",
  ".terraform.d",
  ".vault-token",
  // package managers
  ".npmrc",
  ".yarnrc.yml",
  ".pypirc",
  ".config/pip",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".m2/settings.xml",
  ".gradle/gradle.properties",
  // databases
  ".pgpass",
  ".my.cnf",
  // browsers: cookies and saved passwords
  ".mozilla",
  ".config/google-chrome",
  ".config/chromium",
  ".config/BraveSoftware",
  ".config/microsoft-edge",
  "snap/firefox",
  "snap/chromium",
];

/** Refused with all that is in them. */
export const systemTrees: readonly string[] = [
  "/etc", // hashes of passwords, keys of this machine
  "/proc",
  "/sys",
  "/dev",
  "/boot",
  "/run", // sockets and secrets of services
  "/var/lib/docker", // other containers
  "/var/lib/containerd",
  "/var/lib/containers",
  "/var/lib/kubelet", // tokens of a cluster
  "/var/spool", // mail, tables of cron
];

/** Nothing of a sandbox is put there, where somebody may run it. */
export const programTrees: readonly string[] = ["/bin", "/sbin", "/lib", "/lib64", "/usr", "/opt", "/var/lib/dpkg"];

/** Refused as a whole: they hold what belongs to others. A folder in them may be named. */
export const systemRoots: readonly string[] = [
  "/",
  "/bin",
  "/sbin",
  "/lib",
  "/usr",
  "/var",
  "/var/lib",
  "/var/log",
  "/var/tmp",
  "/tmp",
  "/home",
  "/root",
];
