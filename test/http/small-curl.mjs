#!/usr/bin/env node
// As much of curl as the documents use, for machines without it.
import { readFileSync, writeFileSync } from "node:fs";

const headers = {};
let method;
let body;
let url;
let output;
const words = process.argv.slice(2);
for (let at = 0; at < words.length; at++) {
  const word = words[at];
  if (word === "-H") {
    const [, name, value] = /^([^:]+): (.*)$/s.exec(words[++at]);
    headers[name] = value;
  } else if (word === "-X") method = words[++at];
  else if (word === "-d") body = words[++at];
  else if (word === "-o") output = words[++at];
  else if (word === "-T") {
    body = readFileSync(words[++at]);
    method ??= "PUT";
  } else if (!/^-[sN]+$/.test(word)) url = word;
}
const response = await fetch(url, { method: method ?? (body === undefined ? "GET" : "POST"), headers, body });
const bytes = Buffer.from(await response.arrayBuffer());
if (output === undefined) process.stdout.write(bytes);
else writeFileSync(output, bytes);
