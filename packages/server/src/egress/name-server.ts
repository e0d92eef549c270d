/** The resolver inside a sandbox. It asks nobody: a name that may be reached has an address of its own, and others have none (S45). */
import type { Duplex } from "node:stream";
import { decideName } from "./decide.ts";
import { type DnsQuery, dnsCodes, dnsTypes, formatMistake, formatResponse, parseQuery } from "./dns-message.ts";
import type { Firewall } from "./firewall.ts";
import { gateLimits } from "./gate-limits.ts";
import type { NameTable } from "./name-table.ts";
import { readUntil } from "./read-until.ts";
import { reset } from "./relay.ts";

export interface NameServerParts {
  firewall: Firewall;
  names: NameTable;
  /** Whether a name that would have to be asked for can be. */
  attended: () => boolean;
  /** Waited for before an address is told: what listens there does so by then. */
  prepare: (name: string, address: string) => Promise<void>;
  /** The table is full. */
  exhausted: (name: string) => void;
}

const loopback = Buffer.from([127, 0, 0, 1]);
const loopback6 = Buffer.from([...Array(15).fill(0), 1]);

export class NameServer {
  readonly #parts: NameServerParts;
  /** When a refused name was last written down: resolvers ask for each more than once. */
  readonly #told = new Map<string, number>();
  #connections = 0;

  constructor(parts: NameServerParts) {
    this.#parts = parts;
  }

  async answer(message: Buffer): Promise<Buffer | undefined> {
    const query = parseQuery(message);
    if (query === undefined) return undefined;
    if ("code" in query) return formatMistake(query);
    const { name, type } = query;
    if (name === "localhost" || name.endsWith(".localhost")) return formatResponse(query, dnsCodes.ok, own(type));
    if (this.#parts.firewall.secretIn(name)) {
      this.#tellRefusal(name, "it holds a secret");
      return formatResponse(query, dnsCodes.noSuchName);
    }
    const verdict = decideName(this.#parts.firewall.policy, name);
    if (verdict.action === "allow" || (verdict.action === "ask" && this.#parts.attended())) return this.#tell(query);
    this.#tellRefusal(name, verdict.action === "deny" ? verdict.reason : "nobody is there to be asked");
    return formatResponse(query, dnsCodes.noSuchName);
  }

  /** Only IPv4 addresses are given; other records of a name that is there are none, which is no error (hazard 21). */
  async #tell(query: DnsQuery): Promise<Buffer> {
    const { names, prepare, exhausted } = this.#parts;
    const { name, type } = query;
    if (type !== dnsTypes.A && type !== dnsTypes.ANY) return formatResponse(query, dnsCodes.ok);
    const address = await names.addressOf(name);
    if (address === undefined) {
      exhausted(name);
      return formatResponse(query, dnsCodes.failed);
    }
    await prepare(name, address);
    const asked = { ...query, type: dnsTypes.A };
    return formatResponse(asked, dnsCodes.ok, Buffer.from(address.split(".").map(Number)));
  }

  #tellRefusal(name: string, reason: string): void {
    const now = performance.now();
    const destination = { host: name, port: 0 };
    if (now - (this.#told.get(name) ?? Number.NEGATIVE_INFINITY) < gateLimits.lookupLogMs)
      return this.#parts.firewall.noteAgain(destination, reason);
    if (this.#told.size >= gateLimits.lookupLogNames) this.#told.clear();
    this.#told.set(name, now);
    void this.#parts.firewall.note(destination, reason);
  }

  /** RFC 7766: each message after its length. */
  async serve(client: Duplex): Promise<void> {
    if (this.#connections >= gateLimits.dnsConnections) return reset(client);
    this.#connections++;
    try {
      for (;;) {
        const message = await readUntil<Buffer>(client, gateLimits.dnsIdleMs, takeMessage);
        if (message === undefined) break;
        const answer = await this.answer(message);
        if (answer === undefined || !client.writable) break;
        const length = Buffer.from([answer.length >> 8, answer.length & 255]);
        if (!client.write(Buffer.concat([length, answer]))) break; // it asks, and does not read
      }
      client.end();
      client.resume();
    } finally {
      this.#connections--;
    }
  }
}

function takeMessage(bytes: Buffer) {
  if (bytes.length < 2) return "more";
  const end = 2 + bytes.readUInt16BE(0);
  if (end > gateLimits.dnsMessageBytes) return "refused";
  return bytes.length < end ? "more" : { value: bytes.subarray(2, end), used: end };
}

function own(type: number): Buffer | undefined {
  if (type === dnsTypes.A) return loopback;
  return type === dnsTypes.AAAA ? loopback6 : undefined;
}
