import { randomId } from "../lib/random-id.ts";

/** Draws the id of a run, before the run starts: its place in the queue, its audit entries, events, record and result have it. */
export const newRunId = (): string => `run_${randomId(8, "hex")}`;
