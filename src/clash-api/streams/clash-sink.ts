import { Buffer } from 'node:buffer';

/** A client of a stream of JSON texts: a WebSocket, or an endless response. */
export interface ClashSink {
  /** Whether the client has accepted all data: a text that replaces an earlier one waits for that. */
  readonly isReady: boolean;
  /** Number of bytes that wait for the client. */
  readonly backlog: number;
  /** Aborted when the client has disconnected or was disconnected. */
  readonly signal: AbortSignal;
  /** Sends a text. @param text in pieces, with a newline at its end */
  send(text: readonly Uint8Array[]): void;
  /** Ends the stream; a client may connect again. */
  end(): void;
}

/** A value as JSON text with a newline, in one piece. */
export const jsonLine = (value: unknown): readonly Uint8Array[] => [
  Buffer.from(`${JSON.stringify(value)}\n`),
];

/** Milliseconds between checks of a client: one that has accepted no data in between is disconnected. */
export const LOOK_MS = 30_000;

/** Detects whether a client has stopped accepting data. */
export class StallWatch {
  #taken = -1;

  /** @returns whether data is waiting, and none was accepted since the last call */
  isStalled(backlog: number, written: number): boolean {
    const taken = written - backlog;
    const isStalled = backlog > 0 && taken === this.#taken;
    this.#taken = taken;
    return isStalled;
  }
}
