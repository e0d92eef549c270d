import { once } from "node:events";
import { chmod, unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { AppError, errnoOf } from "../core/errors.ts";
import { LineReader } from "../core/line-reader.ts";
import { supervisionLimits } from "./limits.ts";

export type Question = "status" | "down";

/** Where `caisson down` and `caisson status` find a running one. Whoever started it, and root, may ask. */
export async function answerControl(path: string, answer: (question: Question) => Promise<object>): Promise<Server> {
  await unlink(path).catch((error: unknown) => {
    if (errnoOf(error) !== "ENOENT") throw error;
  });
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    readLine(socket)
      .then((line) => answer(line === "down" ? "down" : "status"))
      .then((found) => socket.end(`${JSON.stringify(found)}\n`))
      .catch(() => socket.destroy());
  });
  server.listen(path);
  await once(server, "listening");
  await chmod(path, 0o600);
  return server;
}

/** Undefined if no daemon is running. */
export async function askControl<T>(path: string, question: Question): Promise<T | undefined> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
  } catch (error) {
    if (["ENOENT", "ECONNREFUSED", "ENOTDIR"].includes(errnoOf(error) ?? "")) return undefined;
    throw new AppError("forbidden", `cannot connect to the daemon of this data folder (${errnoOf(error)})`, {
      cause: error,
      hint: "run this as the user who started the daemon",
    });
  }
  socket.write(`${question}\n`);
  try {
    return JSON.parse(await readLine(socket)) as T;
  } finally {
    socket.destroy();
  }
}

function readLine(socket: Socket): Promise<string> {
  const reader = new LineReader(supervisionLimits.messageBytes);
  return new Promise((resolve, reject) => {
    socket.on("data", (chunk) => {
      try {
        reader.push(chunk);
        const line = reader.next();
        if (line !== undefined) resolve(line);
      } catch (error) {
        reject(error);
      }
    });
    socket.on("close", () => reject(new AppError("unavailable", "the daemon did not answer")));
    socket.on("error", reject);
  });
}
