import type { InputBudget, InputWire, SendFrame } from "./input-window.ts";
import type { TunnelStream } from "./tunnel-stream.ts";

/** What the connections of one wire share. */
export interface TunnelFlow {
  readonly send: SendFrame;
  readonly input: InputWire;
  readonly budget: InputBudget;
  /** Bytes that wait for their reader: more, or fewer. */
  waiting(bytes: number): void;
  /** It has taken bytes that are too few to be told of at once. */
  owes(stream: TunnelStream): void;
  /** Ends a stream, reset where it has not ended; nothing more of it is heard. */
  drop(id: number): void;
}
