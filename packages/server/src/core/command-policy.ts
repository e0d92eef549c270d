/** Categories of commands, by the programs that they name. */
// biome-ignore format: lists of words
export const commandCategories = {
  network: ["curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "dig", "nslookup", "host", "ping", "traceroute"],
  packages: ["pip", "pip3", "pipx", "uv", "poetry", "conda", "npm", "npx", "pnpm", "yarn", "apt", "apt-get", "dpkg", "apk", "dnf", "yum", "gem", "cargo"],
  source: ["git", "hg", "svn"],
  build: ["make", "cmake", "ninja", "gcc", "g++", "cc", "clang", "rustc", "go", "javac", "mvn", "gradle", "tsc"],
  interpreter: ["python", "python2", "python3", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua", "java", "awk", "gawk", "mawk"],
  shell: ["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "eval", "source", "."],
  remove: ["rm", "rmdir", "unlink", "shred", "truncate", "dd"],
  privilege: ["sudo", "su", "doas", "chroot", "unshare", "nsenter", "setpriv", "chown", "chmod", "chgrp", "mount", "umount"],
  processes: ["kill", "pkill", "killall", "renice", "crontab", "at", "systemctl", "service"],
} as const satisfies Record<string, readonly string[]>;

/** Code and terminals are no commands; `other` is all that no list names. */
export type CommandCategory = keyof typeof commandCategories | "code" | "terminal" | "other";

/** Programs that run the command after them; their own options and values are passed over. */
export const commandWrappers: readonly string[] = [
  "env",
  "exec",
  "command",
  "builtin",
  "nohup",
  "nice",
  "ionice",
  "stdbuf",
  "setsid",
  "time",
  "timeout",
  "xargs",
  "sudo",
  "doas",
];

/**
 * Rules are `category:network`, or a pattern for a whole simple command in which `*` stands for anything: `git push *`.
 * What a `deny` rule matches is refused; where there are `allow` rules, so is what neither they nor `ask` rules match. What an
 * `ask` rule matches takes a human's approval, whatever allows it.
 */
export interface CommandPolicy {
  allow: readonly string[];
  deny: readonly string[];
  ask: readonly string[];
}

export interface CommandDecision {
  verdict: "allow" | "deny" | "ask";
  categories: readonly CommandCategory[];
  /** The `deny` or `ask` rule that decided; null when it was allowed, or no rule matched. */
  rule: string | null;
}
