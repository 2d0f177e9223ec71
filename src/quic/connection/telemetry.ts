import type { Space } from '../recovery/space.ts';
import type { DropReason, QuicTrace, TraceEvent } from '../trace.ts';

/** Counts since the connection was created. Bytes are UDP payload. */
export interface ConnectionStatistics {
  readonly bytesSent: number;
  readonly bytesReceived: number;
  readonly datagramsSent: number;
  readonly datagramsReceived: number;
  readonly packetsSent: number;
  readonly packetsReceived: number;
  readonly packetsLost: number;
  readonly packetsDropped: number;
  readonly inFlight: number;
  readonly window: number;
  /** The pacing rate in bytes per millisecond. */
  readonly pacingRate: number;
  readonly smoothedRtt: number;
  readonly minimumRtt: number;
  readonly datagramSize: number;
}

/** Counts what a connection sends and receives, and passes events to its trace, if any. */
export class Telemetry {
  readonly #trace: QuicTrace | undefined;
  bytesSent = 0;
  bytesReceived = 0;
  datagramsSent = 0;
  datagramsReceived = 0;
  packetsSent = 0;
  packetsReceived = 0;
  packetsDropped = 0;

  constructor(trace: QuicTrace | undefined) {
    this.#trace = trace;
  }

  /** Traces a rare event. Packets have methods of their own, so that they allocate nothing. */
  trace(event: TraceEvent, now: number): void {
    this.#trace?.(event, now);
  }

  onPacketSent(
    space: Space,
    number: number,
    bytes: number,
    ackEliciting: boolean,
    now: number,
  ): void {
    this.packetsSent++;
    if (this.#trace !== undefined) {
      this.#trace({ kind: 'packet-sent', space, number, bytes, ackEliciting }, now);
    }
  }

  onPacketReceived(space: Space, number: number, bytes: number, now: number): void {
    this.packetsReceived++;
    if (this.#trace !== undefined) {
      this.#trace({ kind: 'packet-received', space, number, bytes }, now);
    }
  }

  onPacketDropped(reason: DropReason, bytes: number, now: number): void {
    this.packetsDropped++;
    if (this.#trace !== undefined) this.#trace({ kind: 'packet-dropped', reason, bytes }, now);
  }
}
