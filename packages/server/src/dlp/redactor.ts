import { AppError } from "../core/errors.ts";
import type { RedactionMode, Redactor } from "../core/redaction.ts";
import { HostNames } from "./host-names.ts";
import { redactionLimits } from "./limits.ts";
import { MaskingStream } from "./masking-stream.ts";
import { PartCount } from "./part-count.ts";
import { ValueSet } from "./value-set.ts";

function check(values: readonly Buffer[]): void {
  const { leastBytes, mostBytes, values: most } = redactionLimits;
  if (values.length > most) throw new AppError("limit_exceeded", `too many values to mask (limit: ${most})`);
  for (const { length } of values)
    if (length < leastBytes || length > mostBytes)
      throw new AppError("invalid", `cannot mask a value of ${length} bytes`, {
        hint: `values must have ${leastBytes} to ${mostBytes} bytes`,
      });
}

/** Compiles values once, for every stream that they must not be in. Without one no byte is looked at. */
export class ValueRedactor implements Redactor {
  readonly #values = new Map<string, Buffer>();
  readonly #parts = new PartCount();
  #set: ValueSet | undefined;
  #hostNames: HostNames | undefined;

  hide(values: readonly Buffer[]): void {
    const all = new Map(this.#values);
    for (const value of values) all.set(value.toString("latin1"), value);
    if (all.size === this.#values.size) return;
    check([...all.values()]);
    this.#add(values);
  }

  #add(values: readonly Buffer[]): void {
    for (const value of values) this.#values.set(value.toString("latin1"), value);
    this.#set = new ValueSet([...this.#values.values()]);
    this.#hostNames = undefined;
  }

  get hidden(): readonly Buffer[] {
    return [...this.#values.values()];
  }

  get reachBytes(): number {
    return this.#set?.reachBytes ?? 0;
  }

  stream(mode: RedactionMode): MaskingStream {
    return new MaskingStream(() => this.#set, mode, this.#parts);
  }

  notice(value: Buffer, found: () => void): (piece: Buffer) => void {
    const key = value.toString("latin1");
    if (value.length < redactionLimits.leastBytes || this.#values.has(key)) return () => undefined;
    const set = new ValueSet([value]);
    const stream = new MaskingStream(() => set, "fill");
    return (piece) => {
      if (this.#values.has(key)) return;
      stream.push(piece);
      stream.release();
      if (stream.masks === 0) return;
      this.#add([value]);
      found();
    };
  }

  watch(listener: () => void): void {
    this.#parts.watch(listener);
  }

  text(text: string): string {
    if (this.#set === undefined) return text;
    const stream = this.stream("mark");
    const out = [...stream.push(Buffer.from(text)), ...stream.end()];
    return stream.masks === 0 ? text : Buffer.concat(out).toString();
  }

  hostName(name: string): string {
    if (this.#set === undefined) return name;
    this.#hostNames ??= new HostNames([...this.#values.values()]);
    return this.#hostNames.mask(name);
  }

  value<T>(value: T): T {
    return this.#set === undefined ? value : this.#clean(value, 0);
  }

  #clean<T>(value: T, depth: number): T {
    if (depth > redactionLimits.depth) throw new AppError("too_large", "the value is nested too deeply");
    if (typeof value === "string") return this.text(value) as T;
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#clean(item, depth + 1));
      return items.some((item, index) => item !== value[index]) ? (items as T) : value;
    }
    if (typeof value !== "object" || value === null) return value;
    const pairs = Object.entries(value).map(([key, item]) => [this.text(key), this.#clean(item, depth + 1)] as const);
    const isSame = Object.entries(value).every(
      ([key, item], index) => pairs[index]?.[0] === key && pairs[index]?.[1] === item,
    );
    return isSame ? value : (Object.fromEntries(pairs) as T);
  }
}
