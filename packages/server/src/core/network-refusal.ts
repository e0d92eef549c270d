/** `denied` by policy or a human, `failed` to be reached, `limited` by what a sandbox may have at once. */
export const refusalKinds = ["denied", "failed", "limited"] as const;
export type RefusalKind = (typeof refusalKinds)[number];

const install = "install_package, or: caisson install SANDBOX pip|npm PACKAGE";

/** Ends the hint of a refused host that packages come from. */
export const packageAdvice = {
  pip: `install packages with ${install}`,
  npm: `install packages with ${install}`,
  apt: `Debian packages come with an image: list_runtimes, or caisson image catalogue; others with ${install}`,
} as const;

/** True for the hint of a host that packages come from. */
export function advisesInstall(hint: string): boolean {
  return hint.endsWith(install);
}

/** A destination that the network did not let a run reach. */
export interface NetworkRefusal {
  host: string;
  /** 0: the name was looked up, and does not exist for the sandbox. */
  port: number;
  kind: RefusalKind;
  reason: string;
  /** Advice for the agent. */
  hint: string;
}

/** Refusals of a sandbox from the start of a run to its end, as the run's result shows them. */
export interface NetworkRefusals {
  /** One for each host and port, in the order of the first attempts. */
  refused: NetworkRefusal[];
  /** There were more than the list holds. */
  refused_truncated: boolean;
}

/** Collects refusals until it is disposed of. */
export interface RefusalWatch extends Disposable {
  seen(): NetworkRefusals;
}

/** For a sandbox without a gate. */
export const noRefusals: RefusalWatch = {
  seen: () => ({ refused: [], refused_truncated: false }),
  [Symbol.dispose]: () => undefined,
};
