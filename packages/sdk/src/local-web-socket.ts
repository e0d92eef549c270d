import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import type { Duplex } from "node:stream";

/** RFC 6455, section 1.3. */
const acceptSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const opcode = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const brokeOff = 1006;
const frameBytes = 64 * 1024 * 1024;

interface Frame {
  opcode: number;
  isLast: boolean;
  payload: Buffer;
}

/** As much of a WebSocket (RFC 6455) over a Unix socket as terminals use. */
export class LocalWebSocket {
  binaryType: WebSocket["binaryType"] = "arraybuffer";
  onopen: (() => void) | undefined;
  onmessage: ((event: { data: string | ArrayBuffer }) => void) | undefined;
  onclose: ((event: { code: number; reason: string }) => void) | undefined;
  #socket: Duplex | undefined;
  #unread: Buffer = Buffer.alloc(0);
  #message: Buffer[] = [];
  #kind = 0;
  #end = { code: brokeOff, reason: "" };
  #isClosed = false;

  static open(socketPath: string, { pathname, search }: URL): WebSocket {
    const socket = new LocalWebSocket();
    socket.#connect(socketPath, pathname + search);
    return socket as unknown as WebSocket; // its part of that interface
  }

  #connect(socketPath: string, path: string): void {
    const key = randomBytes(16).toString("base64");
    const wanted = createHash("sha1")
      .update(key + acceptSuffix)
      .digest("base64");
    const headers = {
      host: "localhost",
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
    };
    const asked = request({ socketPath, agent: false, path, headers });
    asked.on("error", () => this.#closed());
    asked.on("response", (response) => response.destroy(new Error("refused")).on("error", () => this.#closed()));
    asked.on("upgrade", (response, socket, head) => {
      socket.on("error", () => socket.destroy()).on("close", () => this.#closed());
      if (response.headers["sec-websocket-accept"] !== wanted) return void socket.destroy();
      this.#socket = socket;
      this.onopen?.();
      socket.on("data", (bytes: Buffer) => this.#read(bytes));
      if (head.length > 0) this.#read(head);
    });
    asked.end();
  }

  send(data: string | Uint8Array): void {
    if (typeof data === "string") this.#write(opcode.text, Buffer.from(data));
    else this.#write(opcode.binary, Buffer.from(data));
  }

  close(): void {
    this.#write(opcode.close, Buffer.alloc(0));
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.(this.#end);
  }

  #read(bytes: Buffer): void {
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    for (let found = readFrame(this.#unread); found !== undefined; found = readFrame(this.#unread)) {
      if (found === "invalid") return void this.#socket?.destroy();
      this.#unread = this.#unread.subarray(found.bytes);
      this.#take(found.frame);
    }
  }

  #take({ opcode: kind, isLast, payload }: Frame): void {
    if (kind === opcode.ping) return this.#write(opcode.pong, payload);
    if (kind === opcode.pong) return;
    if (kind === opcode.close) {
      const code = payload.length < 2 ? 1005 : payload.readUInt16BE(0);
      this.#end = { code, reason: payload.subarray(2).toString() };
      this.#write(opcode.close, payload.subarray(0, 2));
      this.#socket?.end();
      return;
    }
    if (kind !== opcode.more) this.#kind = kind;
    this.#message.push(payload);
    if (!isLast) return;
    const whole = Buffer.concat(this.#message);
    this.#message = [];
    this.onmessage?.({ data: this.#kind === opcode.text ? whole.toString() : new Uint8Array(whole).buffer });
  }

  /** Clients mask what they send, each frame with new bytes. */
  #write(kind: number, payload: Buffer): void {
    if (this.#socket?.writable !== true) return;
    const { length } = payload;
    const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
    head[0] = 0x80 | kind;
    head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
    if (head.length === 4) head.writeUInt16BE(length, 2);
    if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
    const mask = randomBytes(4);
    const masked = payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0));
    this.#socket.write(Buffer.concat([head, mask, masked]));
  }
}

/** Undefined where more of it is to come. Servers do not mask. */
function readFrame(bytes: Buffer): { frame: Frame; bytes: number } | "invalid" | undefined {
  if (bytes.length < 2) return undefined;
  const first = bytes.readUInt8(0);
  const short = bytes.readUInt8(1);
  const headBytes = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < headBytes) return undefined;
  const length = headBytes === 2 ? short : headBytes === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (short > 127 || length > frameBytes) return "invalid";
  if (bytes.length < headBytes + length) return undefined;
  const payload = bytes.subarray(headBytes, headBytes + length);
  return { frame: { opcode: first & 0x0f, isLast: first >= 0x80, payload }, bytes: headBytes + length };
}
