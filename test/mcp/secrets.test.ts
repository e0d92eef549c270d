import { randomBytes } from "node:crypto";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, eras } from "./client.ts";

const operator: Caller = {
  principal: { id: "key-operator", name: "operator", namespace: "default", role: "operator" },
  requestId: "request",
};

/** Ways to let a secret slip into what a caller is told. Each shows that it spoke at all by a word of its own. */
const ways: Record<string, string> = {
  "as it is": "print('spoke', secret)",
  "in base64": "import base64; print('spoke', base64.b64encode(secret.encode()).decode())",
  "in hex": "print('spoke', secret.encode().hex())",
  "in a URL": "import urllib.parse; print('spoke', ''.join('%%%02x' % byte for byte in secret.encode()))",
  "in JSON": "import json; print('spoke', json.dumps({'it': secret}))",
  "one character a write":
    "import sys, os\nos.write(1, b'spoke ')\nfor character in secret: os.write(1, character.encode())",
  "in an exception": "import sys; print('spoke', flush=True)\nraise ValueError(secret)",
  "in a path that is not there": "print('spoke', flush=True)\nopen('/nowhere/' + secret)",
  "in a name of a file": "open('spoke-' + secret, 'w').write('x')",
  "in an artifact's name":
    "import os; os.makedirs('output', exist_ok=True); open('output/spoke-' + secret, 'w').write(secret)",
  "from another process":
    "import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', 'print(1, flush=True); input()'], stdin=-1, stdout=-1)\nchild.stdout.readline()\nprint('spoke', open('/proc/%d/environ' % child.pid).read())\nchild.kill()",
};

describe.each(engines)("a secret that a sandbox has (%s)", (engine) => {
  const value = `s3cr3t/${randomBytes(12).toString("hex")}"é`;
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
    await server.vault.put(operator, { name: "API_KEY", value: Buffer.from(value) });
    await server.vault.bind(operator, "API_KEY", { target: { all: true }, delivery: { as: "env", variable: "TOKEN" } });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    expect(server?.errors).toEqual([]);
  });

  /** The longest piece of it without a character that some form writes in another way. */
  const core = value.slice(7, 31);
  const forms = [
    core,
    Buffer.from(value).toString("base64").slice(0, 32),
    Buffer.from(core).toString("hex"),
    [...Buffer.from(core)].map((byte) => `%${byte.toString(16)}`).join(""),
  ];
  function mustHide(told: unknown): string {
    const text = JSON.stringify(told);
    expect(forms.filter((form) => text.includes(form))).toEqual([]);
    return text;
  }

  describe.each(eras)("to a client of %s", (era) => {
    let client: Client;
    beforeAll(async () => {
      client = await connectClient(server, era);
    });
    afterAll(() => client?.close());

    const call = async (name: string, input: object) => {
      const progress: unknown[] = [];
      const given = { name, arguments: { ...input } };
      const result = await client.callTool(given, { onprogress: (news) => void progress.push(news) });
      return mustHide([result, progress]);
    };

    it.each(Object.entries(ways))("[SEC-06] is not told %s, fresh or in a context", async (_name, way) => {
      const code = `import os\nsecret = os.environ['TOKEN']\n${way}\n`;
      for (const stateful of [false, true]) {
        const told = await call("execute_code", { code, stateful });
        expect(told).toContain("spoke");
        expect(told).toContain("REDACTED");
      }
    });

    it("[SEC-06] is in no file, resource or state that is shown", async () => {
      await call("execute_code", {
        code: "import os; open('copy.txt', 'w').write('spoke ' + os.environ['TOKEN']); kept = os.environ['TOKEN']; kept",
        stateful: true,
      });
      expect(await call("read_file", { path: "copy.txt" })).toContain("spoke ****");
      expect(await call("inspect_state", {})).toContain("TOKEN");
      expect(await call("list_files", {})).toContain("copy.txt");
      const { resources } = await client.listResources();
      mustHide(resources);
      const copy = resources.find(({ uri }) => uri.endsWith("copy.txt"));
      expect(mustHide(await client.readResource({ uri: copy?.uri ?? "" }))).toContain("spoke ****");
      mustHide(await client.readResource({ uri: "sandbox://logs" }));
      mustHide(await client.readResource({ uri: "sandbox://status" }));
      mustHide(await server.store.audit.search({ limit: 1_000 }));
    });
  });
});
