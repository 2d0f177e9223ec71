import { silentLogger } from '@weir/base/log';
import { type ByteLink, linkPair, type WireCounter } from '@weir/io/links';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { Turns } from '@weir/io/time';
import { InboundMemory, inboundProtocol, loadProtocols } from '@weir/proxy/protocols';
import { InboundRuntime } from '@weir/proxy/engine';
import { Tracker } from '@weir/proxy/tracker';
import type { Acceptor } from '@weir/proxy/transports';
import { UnauthenticatedClients } from '@weir/proxy/accept';
import { buildAcceptor, buildInbound } from '../../../packages/server/src/supervisor/build.ts';
import { specOf } from '../config/support.ts';
import { ManualClock } from '../manual-clock.ts';
import { freedom } from '../process/config.ts';
import { FakeEngine } from '../protocols/inbounds/engine.ts';

/** An inbound with its carrier on links in memory and a clock that stands still. */
export class ReplayedInbound {
  readonly clock: ManualClock;
  readonly dispatcher: FakeEngine;
  readonly unauthenticated = new UnauthenticatedClients();
  readonly tracker: Tracker;
  readonly #acceptor: Acceptor;
  #writes = 0;

  private constructor(
    { clock, dispatcher }: { readonly clock: ManualClock; readonly dispatcher: FakeEngine },
    tracker: Tracker,
    acceptor: (unauthenticated: UnauthenticatedClients) => Acceptor,
  ) {
    this.clock = clock;
    this.dispatcher = dispatcher;
    this.tracker = tracker;
    this.#acceptor = acceptor(this.unauthenticated);
  }

  /** @param config with one inbound, which needs no file. */
  static async of(config: string): Promise<ReplayedInbound> {
    await loadProtocols();
    const [spec] = specOf(config + freedom()).inbounds;
    if (!spec) throw new Error('a configuration without an inbound');
    const side = inboundProtocol(spec.protocol);
    if (side.kind !== 'carriers') throw new Error(`${spec.protocol} does not take carriers`);
    const clock = new ManualClock();
    const tracker = new Tracker(clock);
    const memory = new InboundMemory();
    const dispatcher = new FakeEngine('echo');
    const deps = { clock, log: silentLogger, dispatcher, memory };
    const handler = await buildInbound(spec, side, deps, new Turns(clock));
    const listeners = new OwnListeners();
    const runtime = new InboundRuntime('in', memory, handler, tracker, listeners, silentLogger);
    return new ReplayedInbound(deps, tracker, (unauthenticated) =>
      buildAcceptor(spec, runtime.accept, { clock, log: silentLogger, unauthenticated }),
    );
  }

  /** Writes of the inbound to its clients so far. */
  get writes(): number {
    return this.#writes;
  }

  /** A client's end of an accepted connection, whose bytes are read and discarded. */
  connect(client: number): ByteLink {
    const [near, far] = linkPair();
    const counted = this.#counted(far);
    this.#acceptor.accept({
      remote: { host: '192.0.2.1', port: 1024 + client },
      local: { host: '127.0.0.1', port: 443 },
      link: () => counted,
      socket: () => {
        throw new Error('no socket below a link in memory');
      },
      destroy: () => far.destroy(),
    });
    const discard = async (): Promise<void> => {
      while ((await near.read()) !== undefined);
    };
    discard().catch(() => undefined); // the inbound has reset the connection
    return near;
  }

  #counted(link: ByteLink): ByteLink & WireCounter {
    const count = (): void => void this.#writes++;
    const write = link.write.bind(link);
    const writeOutput = link.writeOutput.bind(link);
    return Object.assign(link, {
      bytesRead: 0,
      bytesWritten: 0,
      write: (...given: Parameters<typeof write>) => (count(), write(...given)),
      writeOutput: (...given: Parameters<typeof writeOutput>) => (count(), writeOutput(...given)),
    });
  }
}
