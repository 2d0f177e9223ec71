import { Buffer } from 'node:buffer';

/** One client of a stream of JSON texts: a WebSocket, or a response that does not end. */
export interface ClashSink {
  /** Whether the client has taken everything: what replaces a text before waits for that. */
  readonly isReady: boolean;
  /** Bytes that wait for the client. */
  readonly backlog: number;
  /** Aborted when the client has gone, or was disconnected. */
  readonly signal: AbortSignal;
  /** @param text in pieces, with a newline at its end */
  send(text: readonly Uint8Array[]): void;
  /** Ends the stream; a client may connect again. */
  end(): void;
}

/** A value as a JSON text with a newline, in one piece. */
export const jsonLine = (value: unknown): readonly Uint8Array[] => [
  Buffer.from(`${JSON.stringify(value)}\n`),
];

/** Milliseconds between looks at a client: one that has taken nothing from one to the next is disconnected. */
export const LOOK_MS = 30_000;

/** Whether a client takes anything, from the bytes that it has been sent. */
export class StallWatch {
  #taken = -1;

  /** @returns whether bytes wait and none was taken since the last call */
  isStalled(backlog: number, written: number): boolean {
    const taken = written - backlog;
    const isStalled = backlog > 0 && taken === this.#taken;
    this.#taken = taken;
    return isStalled;
  }
}
