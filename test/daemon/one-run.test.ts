import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { Caisson, type DaemonEvent } from "../../packages/sdk/src/index.ts";
import { webHost } from "../egress/hosts.ts";
import { engines } from "../harness.ts";
import { caisson, Up, upTimeoutMs } from "./up.ts";

const attempts = "attempts in its sandbox while it ran";
/** Goes out by the gate's proxy, also to an address of this machine. */
const get = (url: string) => `curl -s --noproxy '' -x "$http_proxy" ${url}`;

async function firstOf<T>(find: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    await sleep(20);
  }
}

describe("one run of a daemon", () => {
  it(
    "[EXE-14] [AUD-02] [CLI-01] is found by its one id: approval, audit entries, events, egress attempts, record and artifacts",
    async () => {
      await using host = await webHost();
      const place = `127.0.0.1:${host.port}`;
      const asked = `${get(`http://${place}/asked`)} >output/answer.txt; echo scratch >scratch`;
      const variables = { CAISSON_ALLOWED_DOMAINS: place, CAISSON_POLICY_COMMANDS_ASK: "echo asked*" };
      await using up = await Up.start({ variables });
      const own = async (role: string, namespace: string) => {
        const words = ["keys", "create", role, "--role", role, "--namespace", namespace];
        const key = (await caisson(words, up.variables)).stdout.trim();
        return { key, client: new Caisson({ url: up.base, key }) };
      };
      const { client: agent } = await own("agent", "default");
      const { client: operator } = await own("operator", "default");
      const seen: DaemonEvent[] = [];
      const watching = new AbortController();
      const watched = (async () => {
        for await (const event of agent.events({ signal: watching.signal, after: 0 })) seen.push(event);
      })().catch(() => undefined);
      const sandbox = await agent.createSandbox({ engine: engines[0] ?? "container" });

      const running = sandbox.exec(`echo asked; ${asked}`);
      const question = await firstOf(async () => (await operator.approvals.list({ state: "pending" }))[0]);
      await operator.approvals.approve(question.id);
      const { run_id: id } = await running;
      expect(question.run_id).toBe(id);
      await sandbox.exec(`${get("http://later.example/")} >output/later.txt`); // is none of the first run's

      const found = await firstOf(async () => {
        const report = await operator.runs.get(id);
        return report.egress.attempts.some((one) => one.duration_ms === null) ? undefined : report;
      });
      expect(found).toMatchObject({ run_id: id, sandbox_id: sandbox.id, job: null, truncated: [] });
      expect(found.record).toMatchObject({ run_id: id, outcome: "completed", stdout: "asked\n" });
      expect(found.approvals).toMatchObject([{ id: question.id, run_id: id, state: "approved" }]);
      const types = ["approval.requested", "approval.approved", "execution.completed"];
      expect(found.audit.map(({ type, run_id }) => [type, run_id])).toEqual(types.map((type) => [type, id]));
      expect(found.events.map(({ id: event, type }) => [event, type])).toEqual(
        found.audit.map(({ position, type }) => [position, type]),
      );
      const ofRun = () => seen.filter((event) => event.run_id === id && event.id !== null);
      await vi.waitFor(() => expect(ofRun()).toEqual(found.events), 20_000);
      expect(found.egress).toMatchObject({
        scope: attempts,
        attempts: [{ host: "127.0.0.1", port: host.port, verdict: "allowed", sandbox_id: sandbox.id }],
      });
      expect(host.requests.map(({ url }) => url)).toEqual(["/asked"]);
      expect(found.artifacts).toMatchObject([{ path: "answer.txt", size_bytes: 12 }]);
      expect(found.artifacts).toEqual(await firstOf(async () => (await sandbox.artifacts.list()).slice(0, 1)));

      const help = await caisson(["help", "runs", "show"], up.variables);
      expect(help.stdout).toContain("usage: caisson runs show [OPTIONS] RUN");
      const shown = await caisson(["runs", "show", id], up.variables);
      expect(shown).toMatchObject({ code: 0, stderr: "" });
      for (const text of [id, question.id, ...types, attempts, place, "answer.txt", found.artifacts[0]?.sha256 ?? ""])
        expect(shown.stdout).toContain(text);
      expect(shown.stdout).not.toMatch(/later/);
      expect(JSON.parse((await caisson(["runs", "show", id, "--json"], up.variables)).stdout)).toEqual(found);
      const artifacts = await caisson(["artifacts", id], up.variables);
      expect(artifacts.stdout).toMatch(/^PATH +BYTES +SHA256\nanswer\.txt +12 +[0-9a-f]{64}\n$/);
      const files = { run_id: id, sandbox_id: sandbox.id, files: found.artifacts, truncated: false };
      expect(JSON.parse((await caisson(["artifacts", id, "--json"], up.variables)).stdout)).toEqual(files);
      const { result } = await agent.tools.call<{ run: object }>("audit_execution", { run_id: id });
      const { audit: _, events: __, ...summary } = found;
      expect(result.run).toEqual(summary);

      const other = await own("operator", "other");
      await expect(other.client.runs.get(id)).rejects.toMatchObject({ status: 404, message: `unknown run ${id}` });
      const elsewhere = { ...up.variables, CAISSON_URL: up.base, CAISSON_API_KEY: other.key };
      for (const words of [
        ["runs", "show", id],
        ["artifacts", id],
      ])
        expect(await caisson(words, elsewhere)).toMatchObject({ code: 2, stdout: "" });

      await sandbox.destroy();
      expect(await operator.runs.get(id)).toEqual(found);
      watching.abort();
      await watched;
    },
    upTimeoutMs,
  );
});
