import type { RequestListener } from "node:http";
import { fetchPage, type PageRequest } from "../../packages/server/src/web/fetch-page.ts";
import { Reader } from "../../packages/server/src/web/reader.ts";
import { errands } from "../egress/errands.ts";
import { webHost } from "../egress/hosts.ts";
import { http } from "../egress/rules.ts";

/** A site on loopback under the name allowed.example, and a sandbox that may reach it alone. */
export async function site(answer: RequestListener) {
  const host = await webHost({ answer });
  const box = await errands({
    policy: { allow: [http("allowed.example"), http("www.allowed.example")] },
    ports: { 80: host.port },
  });
  const reader = new Reader();
  return {
    ...box,
    host,
    reader,
    page: (path: string, request: Partial<PageRequest> = {}) =>
      fetchPage(box.run, reader, {
        url: path.startsWith("/") ? `http://allowed.example${path}` : path,
        signal: new AbortController().signal,
        ...request,
      }),
    async [Symbol.asyncDispose]() {
      await box[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    },
  };
}

/** Says what it is told, as HTML. */
export const html =
  (text: string | Buffer, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) =>
    void response.writeHead(200, { "content-type": "text/html; charset=utf-8", ...headers }).end(text);
