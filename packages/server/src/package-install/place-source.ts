/** Takes apart where packages come from: hosts for the policy, folders for the sandbox, and what the program is told (S54). */
import { isIP } from "node:net";
import { fileURLToPath } from "node:url";
import type { RuleDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import type { PackageFolder } from "../core/package.ts";
import { packageLimits } from "./limits.ts";
import type { MachineFiles } from "./machine-files.ts";

const inside = "/opt/caisson/packages";

/** The sources of one package manager. */
export class Sources {
  readonly hosts: RuleDraft[] = [];
  readonly folders: PackageFolder[] = [];
  readonly #manager: string;
  readonly #check: MachineFiles["checkHost"];

  constructor(manager: string, { checkHost }: Pick<MachineFiles, "checkHost">) {
    this.#manager = manager;
    this.#check = checkHost;
  }

  /** A URL, or a path where the program takes one; given back as the sandbox is told it. */
  add(text: string): string {
    if (text.startsWith("/")) return this.#folder(text);
    let url: URL;
    try {
      url = new URL(text);
    } catch {
      throw this.#refuse("contains an address that is not a URL");
    }
    if (url.protocol === "file:") return `file://${this.#folder(fileURLToPath(url))}`;
    if (url.username !== "" || url.password !== "")
      throw this.#refuse(`contains credentials for ${url.hostname}, which sandboxes do not get`);
    this.addHost(url);
    return text;
  }

  addHost({ protocol, hostname, port }: Pick<URL, "protocol" | "hostname" | "port">): void {
    if (protocol !== "https:" && protocol !== "http:") throw this.#refuse(`uses the unsupported protocol ${protocol}`);
    const host = hostname.replace(/^\[|\]$/g, "");
    const isSecure = protocol === "https:";
    const checked = isSecure && isIP(host) !== 0 ? "tcp" : isSecure ? "tls" : "http";
    this.addRule({ host, port: Number(port || (isSecure ? 443 : 80)), protocol: checked });
  }

  addRule(rule: RuleDraft): void {
    try {
      this.#keep(this.#check(rule));
    } catch (error) {
      if (error instanceof AppError)
        throw this.#refuse(`contains an address that sandboxes cannot reach: ${error.message}`);
      throw error;
    }
  }

  #keep(rule: RuleDraft): void {
    if (this.hosts.some(({ host, port }) => host === rule.host && port === rule.port)) return;
    if (this.hosts.length >= packageLimits.registries) throw this.#refuse("contains too many addresses");
    this.hosts.push(rule);
  }

  #folder(source: string): string {
    const known = this.folders.find((folder) => folder.source === source);
    if (known !== undefined) return known.path;
    if (this.folders.length >= packageLimits.folders) throw this.#refuse("contains too many folders");
    const path = `${inside}/${this.#manager}-${this.folders.length}`;
    this.folders.push({ source, path });
    return path;
  }

  #refuse(what: string): AppError {
    return new AppError("unsupported", `the configuration of ${this.#manager} on this machine ${what}`);
  }
}
