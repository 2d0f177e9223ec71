import { messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';
import { formatEndpoint, ipVersion, type Destination } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import { Deadline } from '../net/deadline.ts';
import { DialError, LinkClosedError } from '../net/errors.ts';
import { normalizeHost } from '../net/host-name.ts';
import type { ByteLink } from '../net/link.ts';
import { relay } from '../net/relay.ts';
import type {
  Dispatcher as DispatcherContract,
  Origin,
  PacketRequest,
  StreamRequest,
} from '../protocols/contract.ts';
import { LogLimiter } from '../protocols/log-limiter.ts';
import type { Tracker } from '../tracker/tracker.ts';
import { Association } from './association.ts';
import { ClientWatch } from './client-watch.ts';
import {
  asDialError,
  clientLeft,
  describe,
  flowInfo,
  logDialFailure,
  notAHost,
} from './flow-record.ts';
import { resolveRoute, type Plane, type Resolved } from './plane.ts';
import type { RouteQuery } from './router/router.ts';
import { sniff } from './sniff/sniff.ts';

/** How long a dial may take, the handshake with an upstream proxy included. */
export const DIAL_TIMEOUT_MS = 10_000;

/**
 * A dial that takes longer ends with its client. To listen for that costs as much as a tenth of a new
 * connection, and most dials are over before.
 */
export const WATCH_AFTER_MS = 100;

export interface DispatcherDeps {
  readonly tracker: Tracker;
  readonly clock: Clock;
  readonly log: Logger;
  /** The plane of the moment: read anew for every decision. */
  readonly plane: () => Plane;
}

/**
 * The one place where flows are made: sniffs when asked, routes, dials, registers, relays, and
 * unregisters with final counts.
 */
export class Dispatcher implements DispatcherContract {
  readonly #deps: DispatcherDeps;
  readonly #stopping = new AbortController();
  readonly #refused: LogLimiter;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#refused = new LogLimiter(deps.clock);
  }

  /** Aborts every dial under way and refuses new ones: the process is at the end of its grace. */
  stop(): void {
    this.#stopping.abort(new DialError('aborted', 'the proxy is stopping'));
  }

  async stream(request: StreamRequest): Promise<void> {
    const { origin, destination } = request;
    const query: RouteQuery = {
      inbound: origin.inbound,
      source: origin.source,
      network: 'tcp',
      host: this.#hostOf(request),
      port: destination.port,
      sniffed: undefined,
    };
    const sniffable = request.sniff && ipVersion(query.host) !== 0;

    // A name could change the route, so it must be known before the dial, and the client sends its
    // first bytes only once it was told that it is connected.
    if (sniffable && this.#deps.plane().routes.needsDomain(query)) {
      const client = await request.accept();
      const sniffed = await sniff(client, { clock: this.#deps.clock });
      try {
        const [resolved, remote, release] = await this.#dial({ ...query, sniffed }, origin, client);
        await this.#carry(request, sniffed, resolved, client, remote, release);
      } catch (error) {
        client.destroy(error instanceof Error ? error : undefined);
      }
      return;
    }

    const [resolved, remote, release] = await this.#dial(query, origin, request.client);
    let client: ByteLink;
    try {
      client = await request.accept();
    } catch (error) {
      remote.destroy();
      release();
      this.#deps.log.debug(`${origin.inbound}: the client left: ${messageOf(error)}`);
      return;
    }
    const sniffed = sniffable ? await this.#sniffBeside(client, remote) : undefined;
    await this.#carry(request, sniffed, resolved, client, remote, release);
  }

  packets(request: PacketRequest): Promise<void> {
    return new Association(request, {
      ...this.#deps,
      signal: this.#stopping.signal,
      dialTimeoutMs: DIAL_TIMEOUT_MS,
    }).run();
  }

  /** @throws {DialError} `not_found` when the destination has no host that could be dialled. */
  #hostOf({ origin, destination }: StreamRequest): string {
    const host = normalizeHost(destination.host);
    if (host !== undefined) return host;
    const failure = notAHost(destination.host);
    this.#deps.log.info(`${origin.inbound} -> tcp: ${failure.message}`);
    throw failure;
  }

  /** Routes and connects, as long as the client is there; the version is held until the returned function releases it. */
  async #dial(
    query: RouteQuery,
    origin: Origin,
    client: ByteLink,
  ): Promise<[Resolved, ByteLink, () => void]> {
    const { clock } = this.#deps;
    const resolved = resolveRoute(this.#deps.plane(), query);
    const { version } = resolved;
    const release = version.hold();
    using deadline = new Deadline(clock, DIAL_TIMEOUT_MS, 'the dial', this.#stopping.signal);
    let watch: ClientWatch | undefined;
    const timer = clock.after(WATCH_AFTER_MS, () => {
      watch = new ClientWatch(client, () => deadline.abort(clientLeft()));
    });
    try {
      const remote = await version.outbound.connect(
        { host: query.host, port: query.port },
        { signal: deadline.signal, origin },
      );
      return [resolved, remote, release];
    } catch (error) {
      release();
      const failure = asDialError(error, deadline.signal, query);
      this.#logFailure(query, version.tag, failure);
      throw failure;
    } finally {
      timer.cancel();
      await watch?.stop();
    }
  }

  /** A client may ask for the proxy itself as often as it likes: a line a minute for each target. */
  #logFailure(query: RouteQuery, outbound: string, failure: DialError): void {
    const { log } = this.#deps;
    if (failure.code !== 'loop' && failure.code !== 'forbidden') {
      logDialFailure(log, query, outbound, failure);
      return;
    }
    const { inbound, source, network } = query;
    const note = this.#refused.note(`${inbound} ${failure.code} ${formatEndpoint(query)}`);
    if (!note) return;
    const more = note.suppressed > 0 ? ` (${note.suppressed} more since the last such line)` : '';
    log.warn(
      `${inbound} -> ${network} ${formatEndpoint(query)} for ${source ?? 'a local client'} refused: ${failure.message}${more}`,
    );
  }

  /**
   * Learns the name of a connected flow for the record alone. A server that speaks first ends the
   * wait: what follows is neither TLS nor HTTP.
   */
  async #sniffBeside(client: ByteLink, remote: ByteLink): Promise<string | undefined> {
    using stop = new DisposableAbort();
    const serverSpoke = remote.read(stop.signal).then(
      (chunk) => {
        if (chunk) remote.unread(chunk);
        stop.abort();
      },
      () => stop.abort(),
    );
    const sniffed = await sniff(client, { clock: this.#deps.clock, signal: stop.signal });
    stop.abort();
    await serverSpoke;
    return sniffed;
  }

  async #carry(
    request: StreamRequest,
    sniffed: string | undefined,
    resolved: Resolved,
    client: ByteLink,
    remote: ByteLink,
    release: () => void,
  ): Promise<void> {
    const { tracker, clock, log } = this.#deps;
    const destination: Destination = { ...request.destination, network: 'tcp' };
    const flow = tracker.openFlow(flowInfo(request, destination, sniffed, resolved), () => {
      const cause = new LinkClosedError('the flow was closed by the operator');
      client.destroy(cause);
      remote.destroy(cause);
    });
    log.debug(`flow ${flow.id} ${describe(flow)} opened`);
    try {
      const failure = await relay(client, remote, flow, clock);
      if (failure) log.debug(`flow ${flow.id} ended: ${failure.message}`);
    } finally {
      flow.close();
      release();
    }
  }
}

/** One for all waits that were called off: an error with its stack costs more than the wait. */
const WAIT_IS_OVER = new LinkClosedError('the wait is over');

class DisposableAbort implements Disposable {
  readonly #controller = new AbortController();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort(WAIT_IS_OVER);
  }

  [Symbol.dispose](): void {
    this.abort();
  }
}
