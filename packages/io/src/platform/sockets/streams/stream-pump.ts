import { SystemError } from '../errno.ts';
import { EAGAIN, EINTR, EINVAL, SPLICE_F_MOVE, SPLICE_F_NONBLOCK } from '../linux.ts';
import type { Pipe } from './pipe-pool.ts';
import type { Resumable } from '../poller.ts';
import { RECEIVE_SIZE } from '../kernel-io.ts';
import { AGAIN, type StreamSocket } from './stream-socket.ts';

/** Bytes after which a direction uses a pipe; small flows never need one. */
const WORTH_A_PIPE = 256 << 10;
/** Bytes of a piece up to which copying is as cheap as splicing, and needs no pipe. */
const SMALL_PIECE = 4 << 10;
/** Bytes to copy after a pipe was refused before another request. */
const COPIED_AFTER_REFUSAL = 4 << 20;
/**
 * Bytes that one direction copies or splices per turn of the loop. The poller limits the sum of all
 * directions.
 */
const COPIED_A_TURN = 128 << 10;
const SPLICED_A_TURN = 4 << 20;
/** Cost of a spliced byte, half of a copied one, which is the unit of the poller's budget. */
const SPLICE_COST = 0.5;

/** Limits the bytes of several pumps together: see `ByteGate` of links. */
interface PumpGate {
  allowance(): number;
  wait(pump: Resumable): void;
  forget(pump: Resumable): void;
}

export interface PumpEvents {
  /** Limits the bytes; asked in each turn. */
  readonly gate?: PumpGate | undefined;
  /** Called with the number of written bytes, at most once per turn. */
  moved(bytes: number): void;
  /** Called when the source has ended, and all of its bytes have been written. */
  ended(): void;
  /** Called when a side has failed; the other has not been notified. */
  failed(side: 'from' | 'to', error: SystemError): void;
}

/** The result of a step. `moved`: the next step may follow at once, also after a call that a signal interrupted. */
type Step = 'moved' | 'blocked' | 'over';

/**
 * Moves bytes from one stream socket to another until the source ends: initially and for small
 * pieces by recv and send through a shared buffer, for the bulk of a large flow by splice through a
 * pipe.
 *
 * A pipe is held only while it contains bytes. The owner of the sockets calls `pump` when either of
 * them is ready, and `stop` to end the transfer early.
 */
export class StreamPump implements Resumable {
  readonly #from: StreamSocket;
  readonly #to: StreamSocket;
  readonly #events: PumpEvents;
  #live = true;
  #queued = false;
  /** Received bytes that are not yet sent. */
  #rest: Uint8Array | undefined;
  #pipe: Pipe | undefined;
  /** Number of bytes in the pipe. */
  #held = 0;
  /** Whether splicing from the source has ended: the rest, including the end, is received by recv. */
  #spliced = false;
  /** The error number of the source, met while bytes were in the pipe. */
  #error = 0;
  #total = 0;
  /** Number of bytes of the last read from the source. */
  #piece = 0;
  #spliceFrom: number = WORTH_A_PIPE;
  /** The value of `#total` when the source was last empty. */
  #blockedAt = 0;
  /** Bytes that the gate allows in this call of `pump`. */
  #allowed = Infinity;
  /** The gate at which the pump waits. */
  #gate: PumpGate | undefined;
  /** Bytes moved in this call of `pump` and not yet reported. */
  #unreported = 0;

  constructor(from: StreamSocket, to: StreamSocket, events: PumpEvents) {
    this.#from = from;
    this.#to = to;
    this.#events = events;
  }

  /** Whether the pump waits for its source and holds no bytes. */
  get isWaiting(): boolean {
    if (!this.#live || this.#queued || this.#gate) return false;
    return this.#held === 0 && this.#rest === undefined;
  }

  /** Moves available bytes, up to the share of one turn. */
  pump(): void {
    if (!this.#live || this.#queued) return;
    const { gate } = this.#events;
    this.#allowed = gate ? gate.allowance() : Infinity;
    if (gate && this.#allowed === 0) {
      this.#waitAt(gate);
      return;
    }
    const { poller } = this.#from.io;
    const before = this.#total;
    let step: Step = 'moved';
    while (step === 'moved' && this.#hasShare(this.#total - before) && poller.mayMove) {
      step = this.#splices() ? this.#splice() : this.#copy();
    }
    if (step === 'blocked') this.#blockedAt = this.#total;
    this.#report();
    // The handler of the report may have stopped the transfer.
    if (step === 'moved' && this.#live) {
      if (gate?.allowance() === 0) {
        this.#waitAt(gate);
        return;
      }
      this.#queued = true;
      poller.later(this, this.#total - this.#blockedAt);
    }
  }

  resume(): void {
    this.#queued = false;
    this.#gate = undefined;
    this.pump();
  }

  /** Ends the transfer without an event; drops pending bytes. */
  stop(): void {
    this.#live = false;
    this.#rest = undefined;
    this.#gate?.forget(this);
    this.#dropPipe();
  }

  #waitAt(gate: PumpGate): void {
    // Others may need the pipe meanwhile.
    if (this.#held === 0) this.#dropPipe();
    this.#gate = gate;
    gate.wait(this);
  }

  #hasShare(moved: number): boolean {
    if (this.#allowed <= 0) return false;
    return moved < (this.#pipe ? SPLICED_A_TURN : COPIED_A_TURN);
  }

  /** Whether the next step uses a pipe, which is then held. */
  #splices(): boolean {
    if (this.#pipe) return true;
    if (this.#piece <= SMALL_PIECE || this.#total < this.#spliceFrom) return false;
    if (this.#rest || !this.#from.readable || this.#from.urgent) return false;
    this.#pipe = this.#from.io.pipes.take();
    if (!this.#pipe) this.#spliceFrom = this.#total + COPIED_AFTER_REFUSAL;
    return this.#pipe !== undefined;
  }

  #copy(): Step {
    const [from, to] = [this.#from, this.#to];
    const rest = this.#rest;
    if (rest) {
      if (!to.writable) return 'blocked';
      const sent = to.send(rest.length > this.#allowed ? rest.subarray(0, this.#allowed) : rest);
      if (sent < 0) return this.#unsent(sent);
      this.#wrote(sent, 1);
      this.#rest = sent < rest.length ? rest.subarray(sent) : undefined;
      return 'moved';
    }
    if (!from.readable || !to.writable) return 'blocked';
    // No more than may be sent: the rest would be kept in memory until the gate opens.
    const count = from.receive(Math.min(RECEIVE_SIZE, this.#allowed));
    if (count === 0) return this.#end();
    if (count < 0) return count === AGAIN ? 'blocked' : this.#fail('from', -count);
    this.#piece = count;
    const sent = to.sendScratch(Math.min(count, this.#allowed));
    if (sent < 0 && sent !== AGAIN) return this.#unsent(sent);
    const taken = Math.max(sent, 0);
    this.#wrote(taken, 1);
    if (taken < count) {
      this.#rest = Uint8Array.from(from.io.scratch.bytes.subarray(taken, count));
    }
    return 'moved';
  }

  #splice(): Step {
    const pipe = this.#pipe as Pipe; // taken by `#splices`
    this.#to.limitUnsent(this.#from.io.pipes.unsentBytes);
    const filled = this.#fill(pipe);
    if (filled === 'over') return 'over';
    const emptied = this.#empty(pipe);
    if (emptied === 'over') return 'over';
    if (this.#held === 0) {
      if (this.#error !== 0) return this.#fail('from', this.#error);
      if (this.#spliced) {
        this.#dropPipe();
        this.#spliceFrom = Infinity;
        return 'moved';
      }
      if (!this.#from.readable) {
        this.#dropPipe();
        return 'blocked';
      }
    }
    return filled === 'moved' || emptied === 'moved' ? 'moved' : 'blocked';
  }

  /** Moves bytes from the source into the pipe. */
  #fill(pipe: Pipe): Step {
    const from = this.#from;
    if (from.urgent) this.#spliced = true;
    if (!from.readable || this.#spliced) return 'blocked';
    const { calls } = from.io;
    const room = Math.min(pipe.size, this.#allowed) - this.#held;
    if (room <= 0) return 'blocked';
    const count = calls.splice(from.fd, 0, pipe.write.number, 0, room, FLAGS);
    if (count > 0) {
      this.#piece = count;
      this.#held += count;
      from.received(count);
      return 'moved';
    }
    if (count === 0) {
      // The end of the stream, or urgent data whose event is still pending.
      this.#spliced = true;
      return 'moved';
    }
    const error = calls.errno();
    if (error === EINTR) return 'moved';
    if (error === EAGAIN) {
      // If the pipe contains bytes, it may be full, because its capacity is in pages, not bytes.
      if (this.#held === 0) from.readable = false;
      return 'blocked';
    }
    if (error === EINVAL && this.#held === 0) {
      // No splice from this type of socket: copies the rest.
      this.#dropPipe();
      this.#spliceFrom = Infinity;
      return 'moved';
    }
    if (this.#held === 0) return this.#fail('from', error);
    this.#error = error;
    this.#spliced = true;
    return 'blocked';
  }

  /** Moves bytes from the pipe to the destination. */
  #empty(pipe: Pipe): Step {
    const to = this.#to;
    if (this.#held === 0 || !to.writable) return 'blocked';
    const { calls } = to.io;
    const most = Math.min(this.#held, this.#allowed);
    const count = calls.splice(pipe.read.number, 0, to.fd, 0, most, FLAGS);
    if (count > 0) {
      this.#held -= count;
      to.sent(count);
      this.#wrote(count, SPLICE_COST);
      return 'moved';
    }
    const error = count === 0 ? EAGAIN : calls.errno();
    if (error === EINTR) return 'moved';
    if (error !== EAGAIN) return this.#fail('to', error);
    to.writable = false;
    return 'blocked';
  }

  #wrote(bytes: number, cost: number): void {
    this.#total += bytes;
    this.#allowed -= bytes;
    this.#unreported += bytes;
    this.#from.io.poller.moved(bytes * cost);
  }

  #unsent(result: number): Step {
    return result === AGAIN ? 'blocked' : this.#fail('to', -result);
  }

  #end(): Step {
    this.#report();
    if (!this.#live) return 'over';
    this.stop();
    this.#events.ended();
    return 'over';
  }

  #fail(side: 'from' | 'to', number: number): Step {
    this.#report();
    if (!this.#live) return 'over';
    this.stop();
    this.#events.failed(side, new SystemError(side === 'from' ? 'read' : 'write', number));
    return 'over';
  }

  #report(): void {
    const bytes = this.#unreported;
    this.#unreported = 0;
    if (bytes > 0) this.#events.moved(bytes);
  }

  #dropPipe(): void {
    const pipe = this.#pipe;
    this.#pipe = undefined;
    if (!pipe) return;
    if (this.#held === 0) this.#from.io.pipes.give(pipe);
    else this.#from.io.pipes.discard(pipe);
    this.#held = 0;
  }
}

const FLAGS = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
