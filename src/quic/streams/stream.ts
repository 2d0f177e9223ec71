import type { ReceiveStream } from './receive-stream.ts';
import type { SendStream } from './send-stream.ts';

/** A stream of the table: one part or both, and where it waits. */
export class Stream {
  readonly id: number;
  /** `undefined` for a unidirectional stream of the peer. */
  readonly send: SendStream | undefined;
  /** `undefined` for a unidirectional stream of this side. */
  readonly receive: ReceiveStream | undefined;
  /** Whether it waits in the scheduler's queues; each holds it once. */
  isInControl = false;
  isInRepair = false;
  isInFresh = false;
  /** Bytes of new data that it has sent in its turn. */
  turnSent = 0;
  /** Whether the application has read everything, so that it is to be notified of more. */
  isReaderWaiting = true;

  constructor(id: number, send: SendStream | undefined, receive: ReceiveStream | undefined) {
    this.id = id;
    this.send = send;
    this.receive = receive;
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
