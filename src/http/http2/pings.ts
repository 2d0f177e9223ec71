import { readUint32, writeUint32 } from '../../collections/network-order.ts';
import { PING_BYTES } from './frames.ts';
import { UNACKNOWLEDGED_LIMIT } from './limits.ts';
import type { Sender } from './sender.ts';

/** Unacknowledged PING frames of this side, in the order sent (RFC 9113 §6.7). */
export class Pings {
  readonly #sender: Sender;
  readonly #pending: { readonly number: number; readonly onAck: () => void }[] = [];
  #last = 0;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /** Sends a PING; returns false if too many are unacknowledged. */
  send(onAck: () => void): boolean {
    if (this.#pending.length >= UNACKNOWLEDGED_LIMIT) return false;
    const data = new Uint8Array(PING_BYTES);
    writeUint32(data, 0, ++this.#last);
    this.#pending.push({ number: this.#last, onAck });
    this.#sender.ping(data, false);
    return true;
  }

  /** Calls `onAck` of the oldest PING if its data was returned; other data is ignored. */
  acknowledged(data: Uint8Array): void {
    if (this.#pending[0]?.number === readUint32(data, 0)) this.#pending.shift()?.onAck();
  }
}
