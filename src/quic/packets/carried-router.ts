import { levelOf } from './levels.ts';
import type { ConnectionParts } from '../connection/parts.ts';
import type { CarriedOwner, Outcome } from '../recovery/carried.ts';
import type { Space } from '../recovery/space.ts';

/** Takes what became of the frames of sent packets to the parts that they belong to. */
export class CarriedRouter implements CarriedOwner {
  #parts: ConnectionParts | undefined;
  /** Of the datagram or the timeout that is being handled. */
  now = 0;

  /** The parts of the connection, of which loss recovery, which calls this, is one. */
  connect(parts: ConnectionParts): void {
    this.#parts = parts;
  }

  crypto(outcome: Outcome, space: Space, offset: number, length: number): void {
    const crypto = this.#parts?.crypto;
    if (outcome === 'lost') crypto?.lost(levelOf(space), offset, length);
    else crypto?.acknowledged(levelOf(space), offset, length);
  }

  stream(outcome: Outcome, id: number, offset: number, length: number, fin: boolean): void {
    this.#parts?.streams.carried.stream(outcome, id, offset, length, fin);
  }

  resetStream(outcome: Outcome, id: number): void {
    this.#parts?.streams.carried.resetStream(outcome, id);
  }

  stopSending(outcome: Outcome, id: number): void {
    this.#parts?.streams.carried.stopSending(outcome, id);
  }

  maxData(outcome: Outcome, limit: number): void {
    this.#parts?.streams.carried.maxData(outcome, limit);
  }

  maxStreamData(outcome: Outcome, id: number, limit: number): void {
    this.#parts?.streams.carried.maxStreamData(outcome, id, limit);
  }

  maxStreams(outcome: Outcome, bidirectional: boolean, limit: number): void {
    this.#parts?.streams.carried.maxStreams(outcome, bidirectional, limit);
  }

  dataBlocked(outcome: Outcome, limit: number): void {
    this.#parts?.streams.carried.dataBlocked(outcome, limit);
  }

  streamDataBlocked(outcome: Outcome, id: number, limit: number): void {
    this.#parts?.streams.carried.streamDataBlocked(outcome, id, limit);
  }

  streamsBlocked(outcome: Outcome, bidirectional: boolean, limit: number): void {
    this.#parts?.streams.carried.streamsBlocked(outcome, bidirectional, limit);
  }

  newConnectionId(outcome: Outcome, sequence: number): void {
    const ids = this.#parts?.localIds;
    if (outcome === 'lost') ids?.onLost(sequence);
    else ids?.onAcknowledged(sequence);
  }

  retireConnectionId(outcome: Outcome, sequence: number): void {
    const ids = this.#parts?.peerIds;
    if (outcome === 'lost') ids?.onRetirementLost(sequence);
    else ids?.onRetirementAcknowledged(sequence);
  }

  newToken(outcome: Outcome): void {
    const once = this.#parts?.once;
    if (outcome === 'lost') once?.onNewTokenLost();
    else once?.onNewTokenAcknowledged();
  }

  handshakeDone(outcome: Outcome): void {
    const once = this.#parts?.once;
    if (outcome === 'lost') once?.onHandshakeDoneLost();
    else once?.onHandshakeDoneAcknowledged();
  }

  ack(outcome: Outcome, space: Space, largest: number): void {
    if (outcome === 'acknowledged') this.#parts?.received.of(space)?.ranges.forget(largest);
  }

  datagram(): void {
    // Neither sent again nor reported to the application.
  }

  mtuProbe(outcome: Outcome, size: number): void {
    const mtu = this.#parts?.paths.active.mtu;
    if (outcome === 'lost') mtu?.onProbeLost(size, this.now);
    else mtu?.onProbeAcknowledged(size, this.now);
  }
}
