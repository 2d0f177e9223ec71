import { ManualClock } from '../../manual-clock.ts';
import { SeededRandom } from '../../simnet/seeded-random.ts';
import { MemoryNetwork, type MemorySocket } from './memory-network.ts';
import { QuicEnds, type ConnectionEnd, type QuicEndsOptions } from './quic-ends.ts';

/** A server and a client endpoint with real connections, in memory and virtual time. */
export class MemoryQuic {
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  readonly ends: QuicEnds;
  /** The sockets, of the server first. */
  readonly sockets: readonly MemorySocket[];

  private constructor(network: MemoryNetwork, ends: QuicEnds, sockets: readonly MemorySocket[]) {
    this.clock = network.clock;
    this.network = network;
    this.ends = ends;
    this.sockets = sockets;
  }

  static async open(options: QuicEndsOptions = {}): Promise<MemoryQuic> {
    const clock = new ManualClock(1000);
    const network = new MemoryNetwork(clock);
    const sockets: MemorySocket[] = [];
    const ends = await QuicEnds.open(
      async (socketOptions, handlers) => {
        const socket = await network.bind(socketOptions, handlers);
        sockets.push(socket);
        return socket;
      },
      { clock, random: new SeededRandom(1), soon: network.soon, ...options },
    );
    return new MemoryQuic(network, ends, sockets);
  }

  connect(): Promise<{ readonly near: ConnectionEnd; readonly far: ConnectionEnd }> {
    return this.run(this.ends.connect());
  }

  until(holds: () => boolean, limit?: number): Promise<void> {
    return this.network.until(holds, limit);
  }

  /** Lets time pass until a promise is settled. */
  async run<T>(promise: Promise<T>, limit?: number): Promise<T> {
    let isSettled = false;
    const settled = (): void => {
      isSettled = true;
    };
    promise.then(settled, settled);
    await this.until(() => isSettled, limit);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run(this.ends[Symbol.asyncDispose]());
  }
}
