import type { Duplex } from "node:stream";
import type { ErrandResponse } from "../core/errand.ts";
import { type Ask, ask } from "./ask.ts";

/** Gets something by a connection of its own, whose carrier ends with the answer. */
export async function getOver(
  connection: Duplex,
  carrier: Duplex,
  asked: Omit<Ask, "method">,
): Promise<ErrandResponse> {
  const answer = await ask(connection, { ...asked, method: "GET" }, { carrier });
  answer.once("close", () => carrier.destroy());
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: answer };
}
