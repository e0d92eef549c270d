// fetch and http of Node, which know of no proxy: what came of each host, one line of JSON.
import { get } from "node:http";

const [allowed, denied, port] = process.argv.slice(2);
const byHttp = (host) =>
  new Promise((resolve, reject) => {
    get({ host, port, path: "/http", agent: false }, async (answer) => {
      let text = "";
      for await (const chunk of answer) text += chunk;
      resolve(answer.statusCode === 200 ? text : `HTTP ${answer.statusCode}`);
    }).on("error", reject);
  });
const byFetch = async (host) => (await fetch(`http://${host}:${port}/fetch`)).text();
for (const [name, way] of Object.entries({ fetch: byFetch, http: byHttp })) {
  const results = [];
  for (const host of [allowed, denied])
    results.push(await way(host).catch((error) => (error.cause ?? error).code ?? String(error)));
  console.log(JSON.stringify([name, ...results]));
}
