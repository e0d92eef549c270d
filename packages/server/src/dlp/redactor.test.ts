import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type RedactionMode, redacted } from "../core/redaction.ts";
import { ValueRedactor } from "./redactor.ts";
import { secretForms } from "./secret-forms.ts";

const value = 'p@ss "w\\ord"/é+½';
function hiding(...values: Buffer[]): ValueRedactor {
  const redactor = new ValueRedactor();
  redactor.hide(values);
  return redactor;
}
const redactor = hiding(Buffer.from(value), Buffer.from("ghp_16C7e42F292c6912E7710c838347Ae178B4a"));

function through(
  input: Buffer,
  cuts: readonly number[] = [],
  by = redactor,
  mode: RedactionMode = "mark",
  waits = false,
): Buffer {
  const stream = by.stream(mode);
  const out: Buffer[] = [];
  let at = 0;
  for (const size of cuts) {
    out.push(...stream.push(input.subarray(at, at + size)));
    if (waits && size % 3 === 0) out.push(...stream.release(stream.receivedBytes - size));
    at += size;
  }
  out.push(...stream.push(input.subarray(at)), ...stream.end());
  return Buffer.concat(out);
}

describe("what is taken out of output", () => {
  it.each(secretForms(Buffer.from(value)).map((form) => form.toString()))("[SEC-06] is the value as %s", (form) => {
    const text = Buffer.from(`before ${form} after`);
    expect(through(text).toString()).toBe(`before ${redacted} after`);
    expect(through(text, Array(text.length).fill(1)).toString()).toBe(`before ${redacted} after`);
  });

  it("[SEC-06] is the value inside a longer text that is encoded as a whole", () => {
    for (const before of ["", "a", "ab", "abc"])
      for (const after of ["", "a", "ab", "abc"]) {
        const text = Buffer.from(before + value + after);
        for (const form of ["base64", "base64url"] as const)
          expect(through(Buffer.from(text.toString(form))).toString()).toContain(redacted);
      }
  });

  it("is nothing else", () => {
    const text = "p@ss word, ghp_ and half a value: ghp_16C7e42F2 and on";
    expect(through(Buffer.from(text)).toString()).toBe(text);
    expect(redactor.text(text)).toBe(text);
  });

  it("hands on pieces of what it was given, without a copy", () => {
    const chunk = Buffer.alloc(100_000, "x");
    expect(
      redactor
        .stream("mark")
        .push(chunk)
        .every(({ buffer }) => buffer === chunk.buffer),
    ).toBe(true);
  });

  it("[SEC-06] is the rest of a value that waited too long in the middle", () => {
    const stream = redactor.stream("mark");
    const out = [...stream.push(Buffer.from("a ghp")), ...stream.release(), ...stream.release()];
    out.push(...stream.push(Buffer.from("_16C7e42F292c6912E77")), ...stream.release(7));
    out.push(...stream.push(Buffer.from("10c838347Ae178B4a!")), ...stream.end());
    expect(Buffer.concat(out).toString()).toBe(`a ghp_1${redacted}!`);
  });

  it("lets out a prompt as it is, when the clock says so", () => {
    const stream = redactor.stream("mark");
    expect(stream.push(Buffer.from("name: g"))).toEqual([]);
    expect(stream.heldBytes).toBe(7);
    expect(Buffer.concat(stream.release()).toString()).toBe("name: g");
    expect(stream.heldBytes).toBe(0);
    expect(Buffer.concat([...stream.push(Buffer.from("o\n")), ...stream.end()]).toString()).toBe("o\n");
  });

  it("[S86] is no part of a value, at the end either", () => {
    for (const part of ["so ghp_16C", "so ghp_16C7e42F292c6912E7710c838", "so ghp_16C7e42F292c6912E7710c838347Ae178B4"])
      expect(through(Buffer.from(part)).toString()).toBe(part);
  });

  it("is a long value with the line ends that an encoder puts in", () => {
    const key = Buffer.from(Array.from({ length: 700 }, (_, index) => (index * 7919) % 251));
    const long = hiding(key);
    const wrapped = key.toString("base64").replace(/.{76}/g, "$&\n");
    // What the padding leaves of the last byte is no letter of the value's own.
    expect(through(Buffer.from(`${wrapped}\nend`), [], long).toString()).toBe(`${redacted}g==\nend`);
  });

  it("[S88] is the value in a longer text whose encoded lines are broken, wherever it stands in it", () => {
    const secret = "sk-live-4f9a0c27d1";
    const by = hiding(Buffer.from(secret));
    const encoders = [
      (text: Buffer) => text.toString("base64"),
      (text: Buffer) => text.toString("base64url"),
      (text: Buffer) => text.toString("hex"),
      (text: Buffer) => text.toString("hex").toUpperCase(),
    ];
    const left: string[] = [];
    for (const encode of encoders)
      for (const [width, end] of [
        [76, "\n"],
        [64, "\r\n"],
        [60, "\n"],
        [19, "\n"],
      ] as const)
        for (let before = 0; before < 120; before++) {
          const encoded = encode(Buffer.from(`${"\0".repeat(before)}${secret}END and what follows`));
          const text = Buffer.from(encoded.replace(new RegExp(`.{${width}}`, "g"), `$&${end}`));
          for (const cuts of [[], [before, 1, 1, 30]])
            if (!through(text, cuts, by).includes(redacted)) left.push(`${width} ${before} ${text.toString()}`);
        }
    expect(left).toEqual([]);
  });

  it("[S88] is the value in hexadecimal pairs of either case, with what tools put between them", () => {
    const pairs = Buffer.from(value).toString("hex").match(/../g) ?? [];
    for (const between of [":", " "])
      for (const text of [pairs.join(between), pairs.join(between).toUpperCase()])
        expect(through(Buffer.from(`<${text}>`)).toString()).toBe(`<${redacted}>`);
  });

  it("leaves every other byte where it was, where bytes have places", () => {
    const text = `before ${value} after, ${value}${value}`;
    const expected = text.replaceAll(value, "*".repeat(Buffer.byteLength(value)));
    for (const cuts of [[], Array(30).fill(1), [9, 3]])
      expect(through(Buffer.from(text), cuts, redactor, "fill").toString()).toBe(expected);
  });

  it("in values that are nested, keys too; what holds none is the same object", () => {
    expect(redactor.value({ [value]: ["x", { b: `a ${value}` }] })).toEqual({
      [redacted]: ["x", { b: `a ${redacted}` }],
    });
    const clean = { a: ["b", 1, null, { c: true }] };
    expect(redactor.value(clean)).toBe(clean);
  });

  it("holds from the moment on that a value is known, in streams that are open", () => {
    const late = new ValueRedactor();
    const stream = late.stream("mark");
    const chunk = Buffer.from(value);
    expect(stream.push(chunk)[0]).toBe(chunk);
    late.hide([Buffer.from(value)]);
    expect(Buffer.concat([...stream.push(Buffer.from(`${value}!`)), ...stream.end()]).toString()).toBe(`${redacted}!`);
  });

  it("refuses a value that every text would hold", () => {
    expect(() => hiding(Buffer.from("12345"))).toThrow("5 bytes");
  });
});

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const randomKey = fc
  .string({ minLength: 21, maxLength: 21, unit: fc.constantFrom(...letters) })
  .map((key) => `sk-${key}`);

/** All that a stream tells of a text: what leaves, and when. */
function watched(by: ValueRedactor, text: string): string {
  const stream = by.stream("mark");
  const told: unknown[] = [];
  const tell = (pieces: Buffer[]) => told.push(Buffer.concat(pieces).toString(), stream.heldBytes, stream.masks);
  tell(stream.push(Buffer.from(text)));
  tell(stream.release(2));
  tell(stream.push(Buffer.from("\n")));
  tell(stream.release());
  tell(stream.push(Buffer.from("x".repeat(10))));
  tell(stream.end());
  return JSON.stringify(told).replaceAll(text, "").replaceAll(text.slice(2), "");
}

describe("a masking stream", () => {
  it("[S86] behaves alike for every guess at the next letter of a value", () => {
    fc.assert(
      fc.property(randomKey, (key) => {
        const by = hiding(Buffer.from(key));
        for (let known = 3; known < key.length - 1; known++) {
          const guesses = [...letters].map((letter) => watched(by, key.slice(0, known) + letter));
          expect(new Set(guesses).size).toBe(1);
        }
        expect(watched(by, key)).not.toBe(watched(by, `${key.slice(0, -1)}-`));
      }),
      { numRuns: 20 },
    );
  });

  it("[S86] holds back as much of a text that begins like a value as of any other, forms of all sizes", () => {
    fc.assert(
      fc.property(secretBytes, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 6_000 }), (secret, cut, bytes) => {
        const by = hiding(secret);
        for (const form of secretForms(secret).slice(0, 8)) {
          const text = Buffer.concat([bytes, form.subarray(0, cut % form.length)]);
          const stream = by.stream("fill");
          stream.push(text);
          const other = by.stream("fill");
          other.push(Buffer.alloc(text.length));
          expect(stream.heldBytes).toBe(other.heldBytes);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["", "A\n".repeat(64 * 1024), 64 * 1024],
    [" of numbers", Array.from({ length: 20_000 }, (_, line) => `${line}\n`).join(""), 64 * 1024],
    [" that come one by one", "A\r\n".repeat(12 * 1024), 3],
  ])(
    "[S88] does no more for each byte of short lines%s when a value is long than when it is short",
    (_, lines, size) => {
      const text = Buffer.from(lines);
      const cpuMs = (secret: string) => {
        const stream = hiding(Buffer.from(secret)).stream("fill");
        const before = process.cpuUsage();
        for (let at = 0; at < text.length; at += size) stream.push(text.subarray(at, at + size));
        stream.end();
        const { user, system } = process.cpuUsage(before);
        return (user + system) / 1000;
      };
      const long = Array.from({ length: 500 }, (_, index) => `k-${index * 7919}`).join("");
      expect(cpuMs(long)).toBeLessThan(100 + 10 * cpuMs("sk-live-4f9a0c27d1e8"));
    },
  );

  it("[S88] masks a value whose lines are broken in a run that is longer than what is looked at in one go", () => {
    const secret = Buffer.from(Array.from({ length: 3_000 }, (_, index) => (index * 7919) % 251));
    const by = hiding(secret);
    const form = secret.toString("hex").replace(/.{16}/g, "$&\r\n");
    for (const before of [0, 1, 4_000, 5_999, 6_000, 6_001, 12_345, 30_000])
      for (const cuts of [[], Array(40).fill(1_001)]) {
        const text = Buffer.from(`${"z\n".repeat(before)}${form}z\n`.repeat(2));
        const shown = through(text, cuts, by).toString();
        expect(shown.split(redacted).length).toBe(3);
        expect(shown.includes(form.slice(0, 40))).toBe(false);
      }
  });

  it("[S86] tells of halves of a value that are printed again and again, once, and of no whole ones", () => {
    const by = hiding(Buffer.from("sk-live-4f9a0c27d1e8"));
    let told = 0;
    by.watch(() => told++);
    const stream = by.stream("mark");
    for (let i = 0; i < 100; i++) stream.push(Buffer.from("sk-live-4f9a0c27d1e8 sk-live-? 4f9a0c27d1e8\n"));
    stream.release();
    expect(told).toBe(0);
    for (let i = 0; i < 100; i++) stream.push(Buffer.from(`sk-live-4f9a0c${i} and on\n`));
    stream.end();
    expect(told).toBe(1);
  });
});

/** Letters of few kinds make values that overlap themselves and each other. */
const secretBytes = fc.oneof(
  fc.string({ minLength: 6, maxLength: 60, unit: "binary" }).map((text) => Buffer.from(text)),
  fc.string({ minLength: 6, maxLength: 24, unit: fc.constantFrom("a", "b") }).map((text) => Buffer.from(text)),
  fc.uint8Array({ minLength: 6, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);

const scene = fc
  .tuple(
    fc.array(
      secretBytes.filter(({ length }) => length >= 6),
      { minLength: 1, maxLength: 4 },
    ),
    fc.infiniteStream(fc.nat()),
  )
  .map(([secrets, numbers]) => {
    const next = (below: number) => (numbers.next().value as number) % below;
    const parts: Buffer[] = [];
    for (let count = 1 + next(5); count > 0; count--) {
      const secret = secrets[next(secrets.length)] as Buffer;
      const forms = secretForms(secret);
      const form = forms[next(forms.length)] as Buffer;
      const around = Buffer.from(Array.from({ length: next(5) }, () => next(256)));
      parts.push(
        around,
        [form, Buffer.from(Buffer.concat([around, secret]).toString("base64")), form.subarray(0, next(form.length))][
          next(3)
        ] as Buffer,
      );
    }
    return {
      secrets,
      input: Buffer.concat(parts),
      cuts: Array.from({ length: next(60) }, () => 1 + next(next(3) === 0 ? 40 : 4)),
    };
  });

describe("whatever is printed, however it is cut", () => {
  it("[SEC-06] no form of a value is in what leaves, and the cuts change nothing", () => {
    fc.assert(
      fc.property(scene, ({ secrets, input, cuts }) => {
        const by = hiding(...secrets);
        const whole = through(input, [], by);
        expect(through(input, cuts, by).equals(whole)).toBe(true);
        const filled = through(input, cuts, by, "fill");
        expect(filled.length).toBe(input.length);
        expect(filled.every((byte, at) => byte === input[at] || byte === 42)).toBe(true);
        const released = through(input, cuts, by, "fill", true);
        expect(released.length).toBe(input.length);
        expect(released.every((byte, at) => byte === filled[at] || byte === input[at])).toBe(true);
        const left = whole.toString("latin1").split(redacted);
        for (const form of secrets.flatMap(secretForms))
          expect(left.some((part) => part.includes(form.toString("latin1")))).toBe(false);
      }),
      { numRuns: process.env.CAISSON_SOAK === "1" ? 1_000_000 : 2_500 },
    );
  });
});
