/** Each name's own address inside one sandbox. An address never gets another name, whoever dies meanwhile (hazard 29). */
import { appendFile, readFile } from "node:fs/promises";
import { errnoOf } from "../core/errors.ts";
import { gateLimits } from "./gate-limits.ts";

/** The first after that of the resolver; the network has four million. */
const firstAddress = (127 << 24) + (64 << 16) + 16;

export function isNameAddress(address: string): boolean {
  return /^127\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d{1,3}\.\d{1,3}$/.test(address);
}

export class NameTable {
  readonly #path: string | null;
  readonly #names: string[] = [];
  readonly #places = new Map<string, number>();
  #writing: Promise<void> = Promise.resolve();
  /** Lines that are in the file whole. */
  #written = 0;

  private constructor(path: string | null) {
    this.#path = path;
  }

  /** With a path, as a former owner left it there; a last line that is not whole was never answered. */
  static async open(path: string | null): Promise<NameTable> {
    const table = new NameTable(path);
    if (path === null) return table;
    const text = await readFile(path, "latin1").catch((error: unknown) => {
      if (errnoOf(error) === "ENOENT") return "";
      throw error;
    });
    const lines = text.split("\n");
    const rest = lines.pop() ?? "";
    for (const name of lines) table.#add(name);
    if (rest !== "") {
      table.#add(rest); // it keeps its place, as no other line may have it
      await appendFile(path, "\n");
    }
    table.#written = table.#names.length;
    return table;
  }

  #add(name: string): number {
    const place = this.#names.push(name) - 1;
    if (!this.#places.has(name)) this.#places.set(name, place);
    return place;
  }

  get names(): readonly string[] {
    return this.#names;
  }

  /** Undefined when the table is full. Resolves once the address is written down. */
  async addressOf(name: string): Promise<string | undefined> {
    const known = this.#places.get(name);
    if (known === undefined && this.#names.length >= gateLimits.names) return undefined;
    const place = known ?? this.#add(name);
    if (known === undefined) this.#writing = this.#append(name);
    if (place >= this.#written) await this.#writing;
    return addressAt(place);
  }

  /** Of a name that has one. */
  known(name: string): string | undefined {
    const place = this.#places.get(name);
    return place === undefined ? undefined : addressAt(place);
  }

  nameOf(address: string): string | undefined {
    if (!isNameAddress(address)) return undefined;
    const number = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
    return this.#names[number - firstAddress];
  }

  async #append(name: string): Promise<void> {
    await this.#writing; // after one that failed no line is where its place is: nothing more is written or answered
    if (this.#path !== null) await appendFile(this.#path, `${name}\n`, { mode: 0o600 });
    this.#written++;
  }
}

function addressAt(place: number): string {
  const number = firstAddress + place;
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}
