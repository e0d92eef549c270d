import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, soak } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, eras } from "./client.ts";
import { resultOf } from "./results.ts";

const [engine = "container"] = engines;
const count = soak ? 100 : 12;
const rounds = 3;

describe(`${count} clients at once`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  it("[MCP-07] have each their own files, variables, output and progress", async () => {
    const work = Array.from({ length: count }, async (_, at) => {
      const era = eras[at % eras.length] ?? eras[0];
      const client = await connectClient(server, era, { namespace: `tenant-${at % 4}` });
      const session_id = `client-${at}`;
      const seen: string[] = [];
      for (let round = 0; round < rounds; round++) {
        const told: string[] = [];
        const code = [
          "import os, time",
          "seen = globals().get('seen', []) + [open('own').read()] if os.path.exists('own') else []",
          `open('own', 'w').write('${at}.${round}')`,
          `print('${at}.${round}', flush=True)`,
          "seen",
        ].join("\n");
        const result = resultOf(
          await client.callTool(
            { name: "execute_code", arguments: { code, session_id, language: "python" } },
            { onprogress: ({ message = "" }) => void told.push(message), timeout: 60_000 },
          ),
        );
        expect([result.stdout, told.join("")]).toEqual([`${at}.${round}\n`, `${at}.${round}\n`]);
        seen.push(JSON.stringify(result.results[0].json));
      }
      await client.close();
      return seen;
    });
    const expected = (at: number) =>
      Array.from({ length: rounds }, (_, round) =>
        JSON.stringify(Array.from({ length: round }, (_, before) => `${at}.${before}`)),
      );
    expect(await Promise.all(work)).toEqual(Array.from({ length: count }, (_, at) => expected(at)));
  });
});
