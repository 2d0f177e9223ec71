import { WeirError } from '@weir/base';
import { BoundedReader, type ByteLink } from '@weir/io/links';
import { type Clock, Deadline, abortReason, HANDSHAKE_MS } from '@weir/io/time';

/** Room for the longest message: a user name and a password of 255 bytes each. */
const HANDSHAKE_BYTES = 1024;

/** One side of a handshake: reads the peer's messages and sends its own. */
export interface SocksHandshake {
  readonly reader: BoundedReader;
  /** Sends one message; waits for back-pressure. */
  readonly send: (message: Uint8Array) => Promise<void>;
}

/**
 * Runs a handshake on `link` under one time limit. At the limit, or when `parent` aborts, the link
 * is destroyed and pending operations reject with the reason. Bytes after the handshake are put
 * back into the link.
 */
export async function runHandshake<T>(
  link: ByteLink,
  clock: Clock,
  run: (handshake: SocksHandshake) => Promise<T>,
  parent?: AbortSignal,
): Promise<T> {
  using deadline = new Deadline(clock, HANDSHAKE_MS, 'the SOCKS handshake', parent);
  const { signal } = deadline;
  const onAbort = (): void => link.destroy(abortReason(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  const reader = new BoundedReader(link, HANDSHAKE_BYTES, signal);
  try {
    const result = await run({
      reader,
      send: async (message) => {
        await link.write(message);
      },
    });
    reader.release();
    return result;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * The error of a client that is rejected with a reply of its protocol; the cause is a RejectedClientError if the client
 * is unauthenticated.
 */
export class SocksRejection extends WeirError {
  /** The reply to send before the connection is closed. */
  readonly reply: Uint8Array;

  constructor(reply: Uint8Array, message: string, options?: ErrorOptions) {
    super('socks_rejected', message, options);
    this.reply = reply;
  }
}
