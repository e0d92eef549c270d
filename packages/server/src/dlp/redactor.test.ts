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

function through(input: Buffer, cuts: readonly number[] = [], by = redactor, mode: RedactionMode = "mark"): Buffer {
  const stream = by.stream(mode);
  const out: Buffer[] = [];
  let at = 0;
  for (const size of cuts) {
    out.push(...stream.push(input.subarray(at, at + size)));
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
    const chunk = Buffer.from("x".repeat(1000));
    expect(
      redactor
        .stream("mark")
        .push(chunk)
        .every(({ buffer }) => buffer === chunk.buffer),
    ).toBe(true);
  });

  it("[SEC-06] is the rest of a value of which little went out while nothing more came", () => {
    const stream = redactor.stream("mark");
    const out: Buffer[] = [];
    for (const letter of "ghp_16C7e42F292c6912E7710c838347Ae178B4a!")
      out.push(...stream.push(Buffer.from(letter)), ...stream.release());
    expect(Buffer.concat([...out, ...stream.end()]).toString()).toBe(`ghp${redacted}!`);
  });

  it("lets a prompt out that could begin a value", () => {
    const stream = redactor.stream("mark");
    expect(Buffer.concat(stream.push(Buffer.from("name: g"))).toString()).toBe("name: ");
    expect(Buffer.concat(stream.release()).toString()).toBe("g");
    expect(Buffer.concat([...stream.push(Buffer.from("o\n")), ...stream.end()]).toString()).toBe("o\n");
  });

  it("is the half of a value that a stream ends with, not its first letters", () => {
    expect(through(Buffer.from("so ghp_16C7e42F292c6912E7710c838")).toString()).toBe(`so ${redacted}`);
    expect(through(Buffer.from("so ghp_16C")).toString()).toBe("so ghp_16C");
  });

  it("is a long value with the line ends that an encoder puts in", () => {
    const key = Buffer.from(Array.from({ length: 700 }, (_, index) => (index * 7919) % 251));
    const long = hiding(key);
    const wrapped = key.toString("base64").replace(/.{76}/g, "$&\n");
    expect(through(Buffer.from(`${wrapped}\nend`), [], long).toString()).toBe(`${redacted}\nend`);
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
        const left = whole.toString("latin1").split(redacted);
        for (const form of secrets.flatMap(secretForms))
          expect(left.some((part) => part.includes(form.toString("latin1")))).toBe(false);
      }),
      { numRuns: process.env.CAISSON_SOAK === "1" ? 1_000_000 : 4_000 },
    );
  });
});
