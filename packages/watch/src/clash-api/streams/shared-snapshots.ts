import { Buffer } from 'node:buffer';
import { writeList } from '@weir/server/api/feeds/slices';
import type { FlowView } from '@weir/server/api/views';
import type { MonitoredFlow } from '@weir/client/monitor';
import type { Clock } from '@weir/io/time';
import type { FactReader } from '../fact-reader.ts';
import type { LeasedMonitor } from '../leased-monitor.ts';
import { clashConnection, type ClashMatch } from '../translate/connections.ts';

/** A snapshot is reused for this multiple of the time that creating it took, which limits the share of the thread. */
const RESTS = 10;

/**
 * Snapshots of the open flows as JSON, each in pieces with a newline at its end. Clients that request one at about the
 * same time share it; at 10,000 flows it has 6 MB and takes some 50 ms, in slices.
 */
export class SharedSnapshots {
  readonly #live: LeasedMonitor;
  readonly #facts: Pick<FactReader, 'recent'>;
  readonly #clock: Clock;
  #last: Promise<readonly Buffer[]> | undefined;

  constructor(live: LeasedMonitor, facts: Pick<FactReader, 'recent'>, clock: Clock) {
    this.#live = live;
    this.#facts = facts;
    this.#clock = clock;
  }

  /** The latest snapshot. @throws {WeirError} when the facts cannot be read */
  latest(): Promise<readonly Buffer[]> {
    this.#last ??= this.#make();
    return this.#last;
  }

  async #make(): Promise<readonly Buffer[]> {
    const start = this.#clock.now();
    try {
      return await this.#write();
    } finally {
      const rest = RESTS * (this.#clock.now() - start);
      this.#clock.after(rest, () => (this.#last = undefined));
    }
  }

  async #write(): Promise<readonly Buffer[]> {
    const facts = await this.#facts.recent();
    const { flows, traffic, status } = this.#live.monitor;
    const matches = new Map<number, ClashMatch>();
    const connections = await writeList([...openFlows(flows.values())], (flow) =>
      JSON.stringify(clashConnection(facts, flow, matches)),
    );
    const { up = 0, down = 0 } = traffic ?? {};
    const memory = status?.value.memory.resident ?? 0;
    return [
      Buffer.from(`{"downloadTotal":${down},"uploadTotal":${up},"connections":[`),
      ...connections,
      Buffer.from(`],"memory":${memory}}\n`),
    ];
  }
}

function* openFlows(flows: Iterable<MonitoredFlow>): Generator<FlowView> {
  for (const { view, closedAt } of flows) if (closedAt === undefined) yield view;
}
