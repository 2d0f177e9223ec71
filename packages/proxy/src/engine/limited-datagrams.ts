import { Fifo } from '@weir/base/collections';
import { KeptDatagrams } from '@weir/io/bounds';
import type { ByteGate, GateWaiter, Packet } from '@weir/io/links';

/** Datagrams that wait for the rate of their account; the newest are dropped beyond this number. */
const MOST_WAITING = 64;

/**
 * The datagrams of one direction of a sub-link whose account has limits: they are sent when its gate allows it, wait in a
 * short queue, or are dropped.
 */
export class LimitedDatagrams implements GateWaiter {
  readonly #gate: () => ByteGate | undefined;
  readonly #pass: (packet: Packet) => void;
  readonly #waiting = new Fifo<Packet>();
  readonly #room: KeptDatagrams;

  /** @param pass counts and sends a datagram */
  constructor(gate: () => ByteGate | undefined, pass: (packet: Packet) => void) {
    this.#gate = gate;
    this.#pass = pass;
    this.#room = new KeptDatagrams(gate()?.datagrams);
  }

  send(packet: Packet): void {
    const gate = this.#gate();
    if (!gate || (this.#waiting.size === 0 && gate.allowance() > 0)) {
      this.#pass(packet);
      return;
    }
    if (this.#waiting.size >= MOST_WAITING) return;
    const kept = this.#room.keep(packet);
    if (!kept) return;
    this.#waiting.push(kept);
    gate.wait(this);
  }

  resume(): void {
    const gate = this.#gate();
    // A datagram is sent whole: the last one may exceed what is allowed.
    for (let allowed = gate?.allowance() ?? Infinity; allowed > 0;) {
      const packet = this.#waiting.shift();
      if (!packet) return;
      this.#room.release([packet]);
      allowed -= packet.data.length;
      this.#pass(packet);
    }
    if (this.#waiting.size > 0) gate?.wait(this);
  }

  /** Drops what waits. */
  close(): void {
    this.#gate()?.forget(this);
    for (let packet = this.#waiting.shift(); packet; packet = this.#waiting.shift()) {
      this.#room.release([packet]);
    }
  }
}
