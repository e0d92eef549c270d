import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import {
  bits,
  boolean,
  type Der,
  explicit,
  flags,
  implicit,
  integer,
  octets,
  oid,
  sequence,
  set,
  time,
  utf8,
} from "./der.ts";

const ecdsaWithSha256 = sequence(oid("1.2.840.10045.4.3.2"));
const serialBytes = 16;

export interface CertificateTerms {
  /** Who it is for: a name or an address for a server, any words for an authority. */
  subject: string;
  publicKey: KeyObject;
  issuer: { subject: string; privateKey: KeyObject };
  isAuthority: boolean;
  fromMs: number;
  toMs: number;
}

function name(words: string): Der {
  // RFC 5280 bounds a common name to 64 characters; programs go by the alternative name.
  return sequence(set(sequence(oid("2.5.4.3"), utf8(words.slice(0, 64)))));
}

function spki(key: KeyObject): Buffer {
  return (key.type === "private" ? createPublicKey(key) : key).export({ type: "spki", format: "der" });
}

function keyId(key: KeyObject): Buffer {
  return createHash("sha256").update(spki(key)).digest().subarray(0, 20);
}

function extension(id: string, isCritical: boolean, value: Der): Der {
  return sequence(oid(id), ...(isCritical ? [boolean(true)] : []), octets(value));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const [before, after] = [groups(head), groups(tail ?? "")];
  const middle = tail === undefined ? [] : Array<string>(8 - before.length - after.length).fill("0");
  const bytes = Buffer.alloc(16);
  [...before, ...middle, ...after].forEach(
    (group, index) => void bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * index),
  );
  return bytes;
}

function alternativeName(subject: string): Der {
  return sequence(isIP(subject) === 0 ? implicit(2, Buffer.from(subject)) : implicit(7, addressBytes(subject)));
}

function extensions({ subject, publicKey, issuer, isAuthority }: CertificateTerms): Der {
  const common = [
    extension("2.5.29.14", false, octets(keyId(publicKey))),
    extension("2.5.29.35", false, sequence(implicit(0, keyId(issuer.privateKey)))),
  ];
  const own = isAuthority
    ? [
        extension("2.5.29.19", true, sequence(boolean(true), integer(Buffer.from([0])))), // signs servers, no authorities
        extension("2.5.29.15", true, flags(0b0000_0110, 1)), // certificates and revocation lists
      ]
    : [
        extension("2.5.29.19", true, sequence()),
        extension("2.5.29.15", true, flags(0b1000_0000, 7)), // signatures
        extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"))), // servers
        extension("2.5.29.17", false, alternativeName(subject)),
      ];
  return explicit(3, sequence(...own, ...common));
}

/** An X.509 certificate (RFC 5280) with keys on P-256, in PEM. */
export function makeCertificate(terms: CertificateTerms): string {
  const { subject, publicKey, issuer, fromMs, toMs } = terms;
  const serial = randomBytes(serialBytes);
  serial[0] = (serial[0] ?? 0) & 0x7f || 1;
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))), // version 3
    integer(serial),
    ecdsaWithSha256,
    name(issuer.subject),
    sequence(time(fromMs), time(toMs)),
    name(subject),
    spki(publicKey),
    extensions(terms),
  );
  const whole = sequence(body, ecdsaWithSha256, bits(sign("sha256", body, issuer.privateKey)));
  const lines = whole.toString("base64").replace(/.{64}/g, "$&\n").trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
