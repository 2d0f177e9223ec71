import { Cubic } from '../../../../packages/congestion/src/cubic.ts';
import { SendControl } from '@weir/congestion';
import { TcpConnection } from '../../../../packages/netstack/src/tcp/connection.ts';
import type { TcpSettings } from '../../../../packages/netstack/src/tcp/tcb.ts';
import type { TcpEvent } from '../../../../packages/netstack/src/tcp/state.ts';
import type { TcpPath } from '../../../../packages/netstack/src/tcp/segment-output.ts';
import type { TraceEvent } from '../../../../packages/netstack/src/trace.ts';
import { Capture, type Segment, toRecord } from './segments.ts';

export const MSS = 1460;
export const PATH: TcpPath = { segmentBytes: MSS, announcedMss: MSS, largestPayload: 0 };

export interface ConnectionChoices {
  readonly role?: 'active' | 'passive';
  readonly initialSequence?: number;
  readonly timestampOffset?: number;
  readonly path?: TcpPath;
  readonly settings?: Partial<TcpSettings>;
  readonly trace?: (event: TraceEvent, now: number) => void;
  readonly now?: number;
}

export function createConnection(choices: ConnectionChoices): TcpConnection {
  const path = choices.path ?? PATH;
  return new TcpConnection({
    role: choices.role ?? 'passive',
    initialSequence: choices.initialSequence ?? 0,
    timestampOffset: choices.timestampOffset ?? 0,
    path,
    settings: { keepAlive: 0, receiveBuffer: 65_535, isPaced: false, ...choices.settings },
    control: new SendControl(new Cubic(path.segmentBytes), path.segmentBytes),
    trace: choices.trace,
    now: choices.now ?? 0,
  });
}

/** What a stack does with one connection after each call, on a clock of the test's own. */
export class Driven {
  readonly connection: TcpConnection;
  readonly out = new Capture();
  readonly events: TcpEvent[] = [];
  readonly traced: TraceEvent[] = [];
  now: number;

  constructor(choices: ConnectionChoices) {
    this.now = choices.now ?? 0;
    this.connection = createConnection({ trace: (event) => this.traced.push(event), ...choices });
  }

  receive(segment: Segment): void {
    this.connection.segmentArrives(toRecord(segment), this.now);
    this.settle();
  }

  /** Writes what is to be sent, collects the events. */
  settle(): void {
    while (this.connection.transmit(this.now, this.out, 65_536) && this.out.room > 0);
    for (;;) {
      const event = this.connection.nextEvent();
      if (event === undefined) return;
      this.events.push(event);
    }
  }

  /** Lets time pass, with every timeout in it. */
  advance(ms: number): void {
    const until = this.now + ms;
    for (let calls = 0; this.connection.nextTimeout() <= until; calls++) {
      if (calls > 10_000) throw new Error('a deadline that does not move on');
      this.now = Math.max(this.now, this.connection.nextTimeout());
      this.connection.onTimeout(this.now);
      this.settle();
    }
    this.now = until;
  }

  takeEvents(): TcpEvent[] {
    return this.events.splice(0);
  }
}
