import type { DeliveryOwner } from '../recovery/delivery.ts';
import type { ReceiveStream } from './receive-stream.ts';
import type { SendStream } from './send-stream.ts';

/** The table that a stream is in, as far as the stream uses it. */
export interface StreamOwner {
  /** After a change of a stream: queues what is due, and forgets the stream when it is closed. */
  settle(stream: Stream): void;
}

/** A stream of the table: one part or both, and where it waits. */
export class Stream implements DeliveryOwner {
  readonly id: number;
  readonly #table: StreamOwner;
  /** Set once, by the table; `undefined` for a unidirectional stream of the peer. */
  send: SendStream | undefined;
  /** Set once, by the table; `undefined` for a unidirectional stream of this side. */
  receive: ReceiveStream | undefined;
  /** Whether it waits in the scheduler's queues; each holds it once. */
  isInControl = false;
  isInRepair = false;
  isInFresh = false;
  /** Bytes of new data that it has sent in its turn. */
  turnSent = 0;
  /** Whether the application has read everything, so that it is to be notified of more. */
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

  get hasControl(): boolean {
    const { send, receive } = this;
    if (send && (send.resetDue !== undefined || send.isBlockedDue)) return true;
    return receive !== undefined && (receive.stopDue !== undefined || receive.isLimitDue);
  }
}
