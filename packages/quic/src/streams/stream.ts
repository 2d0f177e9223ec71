import type { DeliveryOwner, FrameLog } from '../recovery/delivery.ts';
import type { ReceiveStream } from './receive-stream.ts';
import type { SendStream } from './send-stream.ts';
import type { Role } from '../contract.ts';

/** Bits of a stream id: the side that opened the stream, and whether both sides send (RFC 9000 §2.1). */
const SERVER_INITIATED = 1;
const UNIDIRECTIONAL = 2;

/** The kinds of streams as indices: 0 bidirectional, 1 unidirectional. */
type Kind = 0 | 1;

export const kindOf = (id: number): Kind => ((id & UNIDIRECTIONAL) === 0 ? 0 : 1);

export const isOpenedBy = (side: Role, id: number): boolean =>
  (id & SERVER_INITIATED) === (side === 'server' ? SERVER_INITIATED : 0);

/** Returns the index of a stream among those of its kind and side, from 0. */
export const indexOf = (id: number): number => Math.floor(id / 4);

export const streamId = (side: Role, kind: Kind, index: number): number =>
  index * 4 + (kind === 1 ? UNIDIRECTIONAL : 0) + (side === 'server' ? SERVER_INITIATED : 0);

/** An event of a stream of a connection. */
export type StreamEvent =
  /** The peer has opened a stream. Streams below it of the same kind have been reported before. */
  | { readonly kind: 'stream-opened'; readonly id: number }
  /** `read` returns bytes or the end again, after it returned `undefined`. */
  | { readonly kind: 'stream-readable'; readonly id: number }
  /** The queue has drained after `write` returned false. */
  | { readonly kind: 'stream-writable'; readonly id: number }
  /** The peer has sent RESET_STREAM (RFC 9000 §19.4); bytes that have arrived in order can be read. */
  | { readonly kind: 'stream-reset'; readonly id: number; readonly code: number }
  /** The peer has sent STOP_SENDING (§19.5): queued bytes are dropped, and RESET_STREAM follows. */
  | { readonly kind: 'stream-stopped'; readonly id: number; readonly code: number }
  /** Both directions have ended, and the peer has acknowledged everything. */
  | { readonly kind: 'stream-closed'; readonly id: number }
  /** `open` may be called again after it returned undefined. */
  | { readonly kind: 'streams-available'; readonly bidirectional: boolean };

/** The table of a stream, as seen by the stream. */
export interface StreamOwner {
  /** Called after a change of a stream: queues frames that are due, and forgets the stream when it is closed. */
  settle(stream: Stream): void;
}

/** A stream: its sending part, its receiving part or both, and its membership in queues. */
export class Stream implements DeliveryOwner {
  readonly id: number;
  readonly #table: StreamOwner;
  /** The sending part, set once by the table; `undefined` for a unidirectional stream of the peer. */
  send: SendStream | undefined;
  /** The receiving part, set once by the table; `undefined` for a unidirectional stream of this side. */
  receive: ReceiveStream | undefined;
  /** Whether the stream is in the queues of the scheduler; each holds it once. */
  isInControl = false;
  isInRepair = false;
  isInFresh = false;
  /** Bytes of new data that the stream has sent in the current turn. */
  turnSent = 0;
  /** Whether the application has read everything, so that further data is to be reported. */
  isReaderWaiting = true;

  constructor(id: number, table: StreamOwner) {
    this.id = id;
    this.#table = table;
  }

  onDelivery(): void {
    this.#table.settle(this);
  }

  get isDone(): boolean {
    return (this.send?.isDone ?? true) && (this.receive?.isDone ?? true);
  }

  /** Whether a control frame is due. */
  get hasControl(): boolean {
    const { send, receive } = this;
    return (send !== undefined && send.hasControl) || (receive !== undefined && receive.hasControl);
  }

  /** Writes the control frames that are due, as far as they fit. Returns the offset after them. */
  writeControl(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    const { id, send, receive } = this;
    const next = send?.writeControl(out, at, limit, log) ?? at;
    return receive?.writeControl(id, out, next, limit, log) ?? next;
  }
}
