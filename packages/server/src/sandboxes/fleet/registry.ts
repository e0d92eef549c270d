import type { FleetEgress } from "../../core/egress-policies.ts";
import { AppError } from "../../core/errors.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxQuery, SandboxRecord } from "../../core/sandbox-record.ts";
import { isAllowed } from "../../core/scope.ts";
import { fleetLimits } from "./limits.ts";
import { type Member, noSuchSandbox } from "./member.ts";

/** Told of who comes and who goes. */
type Watcher = Pick<FleetEgress, "entered" | "left">;

/** Every sandbox that somebody has, by id and by session. */
export class Registry {
  readonly #watcher: Watcher | undefined;
  readonly #members = new Map<string, Member>();
  readonly #sessions = new Map<string, Member>();
  readonly #counts = new Map<string, number>();
  /** Counted and not yet members. */
  #promised = 0;
  /** Members, but for those of hosted servers; and those. */
  #all = 0;
  #ofServers = 0;

  constructor(watcher?: Watcher) {
    this.#watcher = watcher;
  }

  /** How many have a sandbox. */
  get namespaces(): number {
    return this.#counts.size;
  }

  get all(): Iterable<Member> {
    return this.#members.values();
  }

  add(member: Member): void {
    const { id, namespace, sessionKey, serverId } = member.record;
    this.#members.set(id, member);
    this.#countMember(namespace, serverId, 1);
    if (sessionKey !== null) this.#sessions.set(sessionName(namespace, sessionKey), member);
    this.#watcher?.entered(id, namespace, serverId);
  }

  /** False when it was not there any more. */
  delete(member: Member): boolean {
    const { id, namespace, sessionKey, serverId } = member.record;
    if (!this.#members.delete(id)) return false;
    this.#countMember(namespace, serverId, -1);
    if (sessionKey !== null && this.bySession(namespace, sessionKey) === member)
      this.#sessions.delete(sessionName(namespace, sessionKey));
    this.#watcher?.left(id);
    return true;
  }

  get(id: string): Member | undefined {
    return this.#members.get(id);
  }

  /** Another namespace's does not exist. */
  find(caller: Caller, id: string): Member {
    const member = this.#members.get(id);
    if (member === undefined || !mayFind(caller, member)) throw noSuchSandbox(id);
    member.checkThere();
    return member;
  }

  bySession(namespace: string, sessionKey: string): Member | undefined {
    return this.#sessions.get(sessionName(namespace, sessionKey));
  }

  list(caller: Caller, { status, sessionKey, cursor, limit }: Omit<SandboxQuery, "namespace">): SandboxRecord[] {
    const own = [...this.#members.values()]
      .filter((member) => mayFind(caller, member) && member.record.status !== "destroyed")
      .map(({ record }) => record)
      .sort((left, right) => right.createdAtMs - left.createdAtMs || (left.id < right.id ? 1 : -1));
    const at = cursor === undefined ? 0 : own.findIndex(({ id }) => id === cursor) + 1;
    if (cursor !== undefined && at === 0)
      throw new AppError("not_found", "the sandbox at the cursor no longer exists", {
        hint: "list again from the first page",
      });
    return own
      .slice(at)
      .filter((record) => status === undefined || record.status === status)
      .filter((record) => sessionKey === undefined || record.sessionKey === sessionKey)
      .slice(0, limit);
  }

  /** Disk space promised to a namespace's sandboxes, including stopped ones. */
  storageOf(namespace: string): number {
    let bytes = 0;
    for (const { record } of this.#members.values())
      if (record.namespace === namespace) bytes += record.limits.storageBytes;
    return bytes;
  }

  /** Room for so many more while they are made, or for none; until it is released. */
  reserve(namespace: string, count = 1): void {
    const { sandboxes, sandboxesPerNamespace } = fleetLimits;
    if ((this.#counts.get(namespace) ?? 0) + count > sandboxesPerNamespace)
      throw full(`the namespace may have ${sandboxesPerNamespace} sandboxes`);
    if (this.#all + this.#promised + count > sandboxes) throw full(`there may be ${sandboxes} sandboxes`);
    this.#count(namespace, count);
    this.#promised += count;
  }

  /** Those that were made are members by now, and counted as such. */
  release(namespace: string, count = 1): void {
    this.#promised -= count;
    this.#count(namespace, -count);
  }

  /** The same for one of a hosted server: most of these are stopped, and servers have limits of their own. */
  reserveForServer(): Disposable {
    const { serverSandboxes } = fleetLimits;
    if (this.#ofServers >= serverSandboxes) throw full(`hosted servers may have ${serverSandboxes} sandboxes`);
    this.#ofServers += 1;
    const release = () => {
      this.#ofServers -= 1;
    };
    return { [Symbol.dispose]: release };
  }

  #countMember(namespace: string, serverId: string | null, more: number): void {
    if (serverId !== null) {
      this.#ofServers += more;
      return;
    }
    this.#all += more;
    this.#count(namespace, more);
  }

  #count(namespace: string, more: number): void {
    const count = (this.#counts.get(namespace) ?? 0) + more;
    if (count === 0) this.#counts.delete(namespace);
    else this.#counts.set(namespace, count);
  }
}

/**
 * What agents do to one that a template is made in would be in all sandboxes of that template (S79). One of a hosted server
 * is its server's alone: by any other way callers would go round the gateway, and read the server's secrets (S120).
 */
function mayFind({ principal, serverId }: Caller, { record, forTemplate }: Member): boolean {
  if (record.namespace !== principal.namespace || record.serverId !== (serverId ?? null)) return false;
  return !forTemplate || isAllowed(principal, "operate");
}

function full(what: string): AppError {
  return new AppError("limit_exceeded", what, { hint: "destroy unused sandboxes first: caisson rm SANDBOX" });
}

/** JSON keeps two names apart whatever they hold. */
function sessionName(namespace: string, sessionKey: string): string {
  return JSON.stringify([namespace, sessionKey]);
}
