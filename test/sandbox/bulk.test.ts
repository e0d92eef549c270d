import { createHash, randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { dnsHost, type TestDns, type TestHost, tcpHost } from "../egress/hosts.ts";
import { names, tcp } from "../egress/rules.ts";
import { engines, openTestCaisson, soak, type TestCaisson } from "../harness.ts";

const sizeBytes = (soak ? 512 : 12) * 1024 * 1024;
const hashOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe.each(engines)("bytes in bulk (%s)", (engine) => {
  let home: TestCaisson;
  let sandbox: Sandbox;
  let dns: TestDns;
  let host: TestHost;
  let serve: (socket: Socket) => void;

  beforeAll(async () => {
    dns = await dnsHost(names);
    host = await tcpHost((socket) => serve(socket));
    home = await openTestCaisson({ network: { dnsServers: [dns.address] } });
    sandbox = await home.caisson.createSandbox({ engine, network: { allow: [tcp("allowed.example", host.port)] } });
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await home?.[Symbol.asyncDispose]();
    for (const one of [dns, host]) await one?.[Symbol.asyncDispose]();
  });

  const connected = (then: string) => ["bash", "-c", `exec 3<>/dev/tcp/allowed.example/${host.port}; ${then}`];

  it("come back as they were sent, both ways at once, whoever is the slower", async () => {
    const body = randomBytes(sizeBytes);
    const back = createHash("sha256");
    let got = 0;
    const served = new Promise<void>((resolve, reject) => {
      serve = async (socket) => {
        socket.end(body);
        try {
          for await (const chunk of socket) {
            back.update(chunk as Buffer);
            got += (chunk as Buffer).length;
            if (got % 7 === 0) await new Promise((resume) => setImmediate(resume));
          }
          resolve();
        } catch (error) {
          reject(error);
        }
      };
    });
    const [{ exit_code }] = await Promise.all([sandbox.exec({ command: connected("cat <&3 >&3") }), served]);
    expect({ exit_code, got, hash: back.digest("hex") }).toEqual({ exit_code: 0, got: sizeBytes, hash: hashOf(body) });
  });

  it("[NET-10] let runs and pings through, and end with the rule that let them out", async () => {
    let socket: Socket | undefined;
    serve = (one) => {
      socket = one;
      const piece = Buffer.alloc(65_536);
      const more = () => {
        while (!one.destroyed && one.write(piece));
      };
      one.on("drain", more);
      more();
    };
    const running = sandbox.exec({ command: connected("cat <&3 >/dev/null") });
    await vi.waitFor(() => expect(socket?.bytesWritten).toBeGreaterThan(8 * 1024 * 1024), { timeout: 60_000 });
    await sandbox.wire.ping(60_000);
    expect(String((await sandbox.exec({ command: ["echo", "still here"] })).stdout)).toBe("still here\n");
    expect(socket?.destroyed).toBe(false);
    const gone = new Promise((resolve) => socket?.once("close", resolve));
    (await home.caisson.policies()).setSandbox(sandbox.id, { sandbox: { allow: [], deny: [] } });
    await gone;
    expect((await running).exit_code).not.toBe(0);
  });
});
