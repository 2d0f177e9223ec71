import type { CarriedOwner, Outcome } from '../recovery/carried.ts';
import type { ConnectionReceiveWindow, SendCredit } from './flow-control.ts';
import type { Scheduler } from './scheduler.ts';
import type { StreamTable } from './stream-table.ts';

/** The frames of streams among those that packets carry. */
type StreamFrames = Pick<
  CarriedOwner,
  | 'stream'
  | 'resetStream'
  | 'stopSending'
  | 'maxData'
  | 'maxStreamData'
  | 'maxStreams'
  | 'dataBlocked'
  | 'streamDataBlocked'
  | 'streamsBlocked'
>;

/** Takes what became of the frames of streams that packets carried; see `CarriedOwner`. */
export class CarriedStreams implements StreamFrames {
  readonly #table: StreamTable;
  readonly #scheduler: Scheduler;
  readonly #credit: SendCredit;
  readonly #receiveWindow: ConnectionReceiveWindow;

  /**
   * @param credit what the peer allows on all streams.
   * @param receiveWindow what the peer is allowed on all streams.
   */
  constructor(
    table: StreamTable,
    scheduler: Scheduler,
    credit: SendCredit,
    receiveWindow: ConnectionReceiveWindow,
  ) {
    this.#table = table;
    this.#scheduler = scheduler;
    this.#credit = credit;
    this.#receiveWindow = receiveWindow;
  }

  stream(outcome: Outcome, id: number, offset: number, size: number, fin: boolean): void {
    const stream = this.#table.get(id);
    if (!stream?.send) return;
    if (outcome === 'lost') {
      stream.send.lost(offset, size, fin);
      this.#scheduler.update(stream);
    } else {
      stream.send.acknowledged(offset, size, fin);
      if (stream.send.isDone) this.#table.settle(stream);
    }
  }

  resetStream(outcome: Outcome, id: number): void {
    const stream = this.#table.get(id);
    if (!stream?.send) return;
    if (outcome === 'lost') stream.send.resetLost();
    else stream.send.resetAcknowledged();
    this.#table.settle(stream);
  }

  stopSending(outcome: Outcome, id: number): void {
    const stream = outcome === 'lost' ? this.#table.get(id) : undefined;
    if (!stream?.receive) return;
    stream.receive.stopLost();
    this.#scheduler.update(stream);
  }

  maxData(outcome: Outcome, limit: number): void {
    if (outcome === 'lost') this.#receiveWindow.lost(limit);
  }

  maxStreamData(outcome: Outcome, id: number, limit: number): void {
    const stream = outcome === 'lost' ? this.#table.get(id) : undefined;
    if (!stream?.receive) return;
    stream.receive.limitLost(limit);
    this.#scheduler.update(stream);
  }

  maxStreams(outcome: Outcome, bidirectional: boolean, limit: number): void {
    if (outcome === 'lost') this.#table.countsOf(bidirectional).limitLost(limit);
  }

  dataBlocked(outcome: Outcome, limit: number): void {
    if (outcome === 'lost') this.#credit.blockedLost(limit);
  }

  streamDataBlocked(outcome: Outcome, id: number, limit: number): void {
    const stream = outcome === 'lost' ? this.#table.get(id) : undefined;
    if (!stream?.send) return;
    stream.send.blockedLost(limit);
    this.#scheduler.update(stream);
  }

  streamsBlocked(outcome: Outcome, bidirectional: boolean, limit: number): void {
    if (outcome === 'lost') this.#table.countsOf(bidirectional).blockedLost(limit);
  }
}
