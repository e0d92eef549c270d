import { describe, expect, it } from "vitest";
import { gatewayLimits } from "./limits.ts";
import type { Message } from "./message.ts";
import { type Peer, Upstream } from "./upstream.ts";

function open() {
  const sent: Message[] = [];
  const ended = new AbortController();
  const kind = {
    incarnation: "i",
    ended: ended.signal,
    mask: <T>(value: T) => value,
    cancelsByMessage: true,
    guessesOwner: true,
  };
  const upstream = new Upstream(kind, () => ({
    send: async (message) => void sent.push(message),
    close: () => undefined,
  }));
  const peer = (): Peer & { heard: unknown[] } => {
    const heard: unknown[] = [];
    const made = { heard, hear: (message: Message) => void heard.push(message) };
    upstream.attach(made);
    return made;
  };
  return { upstream, sent, ended, peer };
}

const question = { jsonrpc: "2.0", id: 5, method: "roots/list" } as const;
const answer = { jsonrpc: "2.0", id: 5, result: { roots: [] } } as const;

describe("[S132] a question of a server", () => {
  it("is answered by the client that it was given to, once", () => {
    const { upstream, sent, peer } = open();
    const [first, second] = [peer(), peer()];
    upstream.hear(question, undefined);
    expect([first.heard, second.heard]).toEqual([[], [question]]);
    upstream.answer(first, answer);
    upstream.answer(second, { ...answer, id: 6 });
    expect(sent).toEqual([]);
    upstream.answer(second, answer);
    upstream.answer(second, answer);
    expect(sent).toEqual([answer]);
  });

  it("is refused where no client is there, or too many wait", () => {
    const { upstream, sent, peer } = open();
    upstream.hear(question, undefined);
    expect(sent).toMatchObject([{ id: 5, error: { message: "no client can answer this now" } }]);
    peer();
    for (let id = 0; id < 100; id++) upstream.hear({ ...question, id }, undefined);
    expect(sent.length).toBe(1 + 100 - 32);
  });
});

it("[S136] requests under way fail with an unknown outcome when their instance ends", async () => {
  const { upstream, ended, peer } = open();
  const request = upstream.request(peer(), { jsonrpc: "2.0", id: "mine", method: "tools/call" });
  ended.abort(new Error("any"));
  await expect(request).rejects.toThrow("the outcome of the call is unknown");
  await expect(upstream.request(peer(), { jsonrpc: "2.0", id: 1, method: "ping" })).rejects.toThrow("not made");
});

it("[S133] streams without an end take no place of a call", async () => {
  const { upstream, sent, peer } = open();
  const listen = (id: number) =>
    upstream.request(peer(), { jsonrpc: "2.0", id, method: "subscriptions/listen" }, { endless: true });
  for (let id = 0; id < gatewayLimits.underWay; id++) listen(id).catch(() => undefined);
  upstream.request(peer(), { jsonrpc: "2.0", id: "call", method: "tools/call" }).catch(() => undefined);
  await Promise.resolve();
  expect(sent.at(-1)).toMatchObject({ method: "tools/call" });
});
