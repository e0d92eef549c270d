// The undici that people install, past the proxy and by it: what came of each, one line of JSON.
import { createRequire } from "node:module";

const { EnvHttpProxyAgent, request } = createRequire("/workspace/input/node/")("undici");
const [port, ...hosts] = process.argv.slice(2);

for (const [name, options] of [
  ["undici", {}],
  ["undici, by proxy", { dispatcher: new EnvHttpProxyAgent() }],
]) {
  const told = [];
  for (const host of hosts) {
    try {
      const { statusCode, body } = await request(`https://${host}:${port}/more`, options);
      const text = await body.text();
      told.push(statusCode === 200 ? text : `HTTP ${statusCode}`);
    } catch {
      told.push("refused");
    }
  }
  console.log(JSON.stringify([name, ...told]));
}
process.exit(0);
