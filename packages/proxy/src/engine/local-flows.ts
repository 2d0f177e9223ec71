import { asError } from '@weir/base';
import type { Endpoint } from '@weir/io/addresses';
import { DialError } from '@weir/io';
import { type ByteLink, linkPair, type PacketLink, packetPair } from '@weir/io/links';
import type { Clock } from '@weir/io/time';
import type { OwnListeners } from '@weir/io/net/own-listeners';
import type { Dispatcher, Origin } from '../protocols/contract.ts';
import type { Flow } from '../tracker/flow.ts';
import type { Tracker } from '../tracker/tracker.ts';
import { LiveSessions } from './live-sessions.ts';

/** The client and the route of flows that the host program opens. */
export interface LocalOptions {
  /** The inbound of the flow in records and for rules. */
  readonly inbound: string;
  /** Label of the user. */
  readonly user: string | undefined;
  /** The tag of an outbound or balancer; the rules decide without it. */
  readonly via: string | undefined;
}

/** A stream to a destination, with its flow. */
export interface LocalStream {
  readonly link: ByteLink;
  readonly flow: Flow;
}

interface LocalAssociationOptions extends LocalOptions {
  /** Called when datagrams to a peer were dropped because no outbound could be opened for them. */
  readonly onFailure: (peer: Endpoint, error: DialError) => void;
}

interface LocalFlowsDeps {
  readonly dispatcher: Dispatcher;
  readonly tracker: Tracker;
  readonly ownListeners: OwnListeners;
  readonly clock: Clock;
}

/**
 * Flows that the host program opens by itself: it is the client, and has neither an inbound nor a session. A stop waits
 * for them as for sessions.
 */
export class LocalFlows {
  readonly #deps: LocalFlowsDeps;
  readonly #live: LiveSessions;

  constructor(deps: LocalFlowsDeps) {
    this.#deps = deps;
    this.#live = new LiveSessions('', deps.tracker, deps.ownListeners);
  }

  /** Number of streams and associations that are open or being opened. */
  get count(): number {
    return this.#live.count;
  }

  /** Resolves when no flow remains. */
  whenIdle(): Promise<void> {
    return this.#live.whenIdle();
  }

  /** Ends all flows. */
  destroy(cause: Error): void {
    this.#live.destroy(cause);
  }

  /**
   * Opens a stream.
   * @param signal aborts the routing and the dial; afterwards it has no effect
   * @throws {DialError} when the destination was not reached
   */
  async connect(
    destination: Endpoint,
    options: LocalOptions,
    signal?: AbortSignal,
  ): Promise<LocalStream> {
    const { dispatcher, clock } = this.#deps;
    const [link, client] = linkPair(clock);
    const end = new AbortController();
    const onAbort = (): void => end.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    const release = this.#live.hold((cause) => {
      end.abort(new DialError('aborted', cause.message));
      link.destroy(cause);
    });
    const opened = Promise.withResolvers<Flow>();
    const over = dispatcher.stream({
      origin: originOf(options),
      destination,
      sniff: false,
      via: options.via,
      signal: end.signal,
      client,
      accept: () => Promise.resolve(client),
      onFlow: opened.resolve,
    });
    over.finally(release).then(
      () => opened.reject(endedEarly()),
      (error: unknown) => {
        link.destroy(asError(error));
        opened.reject(error);
      },
    );
    try {
      return { link, flow: await opened.promise };
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Opens an association, whose packets are routed one by one. */
  associate(options: LocalAssociationOptions): PacketLink {
    const { dispatcher } = this.#deps;
    const [link, client] = packetPair();
    const release = this.#live.hold((cause) => link.close(cause));
    void dispatcher
      .packets({
        origin: originOf(options),
        client,
        via: options.via,
        onFailure: options.onFailure,
      })
      .finally(() => {
        link.close();
        release();
      });
    return link;
  }
}

const endedEarly = (): DialError =>
  new DialError('aborted', 'the flow ended before it was connected');

const originOf = ({ inbound, user }: LocalOptions): Origin => ({
  inbound,
  user,
  source: undefined,
  session: undefined,
  isLocal: true,
});
