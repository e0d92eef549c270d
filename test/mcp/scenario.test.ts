import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publicWorld, type WebHost, webHost } from "../egress/hosts.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { eras } from "./client.ts";
import { accept, connectQuestionedClient } from "./questioned-client.ts";
import { resultOf } from "./results.ts";

const csv = `city,population\n${[3, 1, 4, 1, 5, 9, 2, 6].map((n, at) => `city ${at},${n * 1000}`).join("\n")}\n`;

const analyse = `
import csv
rows = list(csv.DictReader(open("cities.csv")))
population = [int(row["population"]) for row in rows]
{"rows": len(rows), "mean": sum(population) / len(population)}
`;

/** Bars, black on white, by the standard library alone. */
const draw = `
import os, struct, zlib
width, height = len(population) * 8, 64
def pixel(x, y):
    return 0 if height - y <= population[x // 8] * height // max(population) and x % 8 < 6 else 255
lines = b"".join(b"\\0" + bytes(pixel(x, y) for x in range(width)) for y in range(height))
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
os.makedirs("output", exist_ok=True)
with open("output/chart.png", "wb") as file:
    file.write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)))
    file.write(chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))
`;

const fetchRate = `
import urllib.request
urllib.request.urlopen("http://rates.example.com/euro").read().decode()
`;

describe.each(engines)("an agent at work on %s", (engine) => {
  let server: TestServer;
  let host: WebHost;
  beforeAll(async () => {
    host = await webHost();
    server = await openTestServer(engine, { world: publicWorld(() => host.port) });
    const operator = await server.as("operator");
    await operator.send("PUT", "/api/v1/egress/policy", { json: { unknown: "ask" } });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await host?.[Symbol.asyncDispose]();
  });

  it.each(eras)("[MCP-07] analyses, draws, breaks, goes back, asks and delivers, over MCP of %s", async (era) => {
    const user = await connectQuestionedClient(server, era, "operator", () =>
      accept("once", { reason: "for the report" }),
    );
    const { client, asked } = user;
    const session_id = `work-${era}`;
    const call = async (name: string, input: object) =>
      client.callTool({ name, arguments: { ...input, session_id } }, { timeout: 60_000 });
    const run = (code: string, language = "python") => call("execute_code", { code, language });

    resultOf(await call("write_file", { path: "cities.csv", content: csv }));
    const analysed = resultOf(await run(analyse));
    expect(analysed.results).toMatchObject([{ json: { rows: 8, mean: 3875 } }]);

    const drawn = await run(draw);
    expect(resultOf(drawn).files_changed).toMatchObject([{ path: "output/chart.png", action: "created" }]);
    const image = drawn.content.find(({ type }) => type === "image");
    expect(image).toMatchObject({ mimeType: "image/png", data: expect.stringMatching(/^iVBORw0KGgo/) });

    const { snapshot_id } = resultOf(await call("create_state_snapshot", { description: "before it breaks" }));
    resultOf(await run("rm -rf cities.csv output; echo nonsense > cities.csv", "shell"));
    expect(resultOf(await run("cat cities.csv; ls output 2>&1 | tail -c 30", "shell")).stdout).toContain("nonsense");
    resultOf(await call("restore_state_snapshot", { snapshot_id }));
    expect(resultOf(await call("read_file", { path: "cities.csv" })).content).toBe(csv);

    const before = host.requests.length;
    const fetched = resultOf(await run(fetchRate));
    expect(fetched.results).toMatchObject([{ text: expect.stringContaining("GET /euro") }]);
    expect(host.requests).toHaveLength(before + 1);
    expect(asked).toMatchObject([{ message: expect.stringContaining("rates.example.com:80") }]);

    const { content_base64, manifest } = resultOf(await call("get_artifacts", { path: "chart.png" }));
    expect(content_base64).toBe(image?.type === "image" ? image.data : "");
    const api = await server.as("viewer");
    const verified = await api.post("/api/v1/artifacts/verify", { manifest, path: "chart.png", content_base64 });
    expect(verified.json).toMatchObject({ valid: true });
    await client.close();
  });
});
