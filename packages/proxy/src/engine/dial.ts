import type { Destination, Endpoint } from '@weir/io/addresses';
import { abortedDial, DialError } from '@weir/io';
import { type ByteLink, LinkWatch, onClosed, type PacketLink } from '@weir/io/links';
import { type DescriptorHolder, descriptorHolders, systemSockets } from '@weir/io/sockets';
import type { Clock, Deadline, Timer } from '@weir/io/time';
import type {
  DialOptions,
  Origin,
  Outbound,
  PacketRequest,
  StreamRequest,
} from '../protocols/contract.ts';
import type { FlowInfo } from '../tracker/flow.ts';
import { clientLeft } from './dial-errors.ts';
import type { Resolved } from './routing-snapshot.ts';
import type { RouteQuery } from './router/query.ts';

/** Bytes that are read ahead from a client while its destination is dialled; the last chunk may exceed this number. */
const AHEAD_BYTES = 16 * 1024;

/**
 * Watches a client while its destination is dialled, so that the dial is aborted when the client resets its connection:
 * otherwise the dial would hold a descriptor until its time limit.
 *
 * A half-close does not abort the dial, since the client may still expect the response. A client that has closed both
 * directions looks the same until data is written to it.
 */
export class ClientWatch {
  readonly #watch: LinkWatch;
  #onGone: (() => void) | undefined;
  #forgetLink: (() => void) | undefined;

  /** @param onGone called at most once, and never after `stop` */
  constructor(link: ByteLink, onGone: () => void) {
    this.#onGone = onGone;
    this.#watch = new LinkWatch(link, AHEAD_BYTES);
    void this.#watch.result.then(({ kind }) => {
      if (kind === 'failure') this.#gone();
      // The limit or the end has been reached: from now on only the destruction of the link matters. The link
      // may serve many requests with a watch each, so the callback has to be removed.
      else if (this.#onGone) this.#forgetLink = onClosed(link.closed, () => this.#gone());
    });
  }

  /** Ends the watch. When this resolves the link may be read, and returns everything read ahead. Idempotent. */
  async stop(): Promise<void> {
    this.#onGone = undefined;
    this.#forgetLink?.();
    await this.#watch.stop();
  }

  #gone(): void {
    const onGone = this.#onGone;
    this.#onGone = undefined;
    onGone?.();
  }
}

/**
 * Milliseconds after which a dial is aborted when its client disconnects. Watching the client costs a tenth of a
 * new connection, and most dials are faster.
 */
export const WATCH_AFTER_MS = 100;

// Shared by all flows: a closure for each would take memory as long as the flow is open.
const destroyStream = (link: ByteLink): void => link.destroy();
const closePackets = (link: PacketLink): void => link.close();

/** A dial: its purpose, and its execution. */
export interface Dial<Link> {
  readonly origin: Origin;
  readonly to: Destination;
  /** The time limit of the dial. */
  readonly signal: AbortSignal;
  /** The descriptor of a stream, once the stream is being opened. */
  readonly place?: FlowPlace | undefined;
  open(outbound: Outbound, options: DialOptions): Promise<Link>;
  /** Called when the link was opened. */
  opened(link: Link): void;
  readonly close: (link: Link) => void;
  /** Called when the dial has ended, with or without a link. @returns a promise if that has to be awaited. */
  end(): Promise<void> | undefined;
}

/** A dial of a stream, whose client is watched if the dial takes long. */
export class StreamDial implements Dial<ByteLink> {
  readonly origin: Origin;
  readonly to: RouteQuery;
  readonly close = destroyStream;
  readonly #limit: Deadline;
  readonly #timer: Timer | undefined;
  readonly #forgetAbort: (() => void) | undefined;
  #watch: ClientWatch | undefined;
  place: FlowPlace | undefined;

  /**
   * @param limit disposed of at the end of the dial.
   * @param abort aborts the dial.
   */
  constructor(
    to: RouteQuery,
    origin: Origin,
    limit: Deadline,
    client: ByteLink | undefined,
    clock: Clock,
    abort?: AbortSignal,
  ) {
    this.to = to;
    this.origin = origin;
    this.#limit = limit;
    this.#forgetAbort = abort && onAbort(abort, () => limit.abort(abortedDial(abort, to)));
    this.#timer =
      client &&
      clock.after(WATCH_AFTER_MS, () => {
        this.#watch = new ClientWatch(client, () => limit.abort(clientLeft()));
      });
  }

  get signal(): AbortSignal {
    return this.#limit.signal;
  }

  open(outbound: Outbound, options: DialOptions): Promise<ByteLink> {
    this.place ??= placeOf(this.origin, this.#limit);
    return outbound.connect({ host: this.to.host, port: this.to.port }, options);
  }

  opened(link: ByteLink): void {
    this.place?.connected(link);
  }

  end(): Promise<void> | undefined {
    this.#timer?.cancel();
    this.#forgetAbort?.();
    this.#limit[Symbol.dispose]();
    return this.#watch?.stop();
  }
}

/** Calls `abort` when the signal aborts, at once if it has. @returns a function that ends the watch */
function onAbort(signal: AbortSignal, abort: () => void): () => void {
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}

/** A dial of an association; the caller disposes of the time limit. */
export class AssociationDial implements Dial<PacketLink> {
  readonly origin: Origin;
  readonly to: Destination;
  readonly signal: AbortSignal;
  readonly close = closePackets;
  readonly #first: Endpoint | undefined;

  constructor(opener: Endpoint, origin: Origin, signal: AbortSignal, first: Endpoint | undefined) {
    this.to = { ...opener, network: 'udp' };
    this.origin = origin;
    this.signal = signal;
    this.#first = first;
  }

  open(outbound: Outbound, options: DialOptions): Promise<PacketLink> {
    return outbound.associate({ ...options, first: this.#first });
  }

  opened(): void {}

  end(): undefined {}
}

/**
 * The result of a dial: the link, and the route that it was opened on. Holds the version of the outbound until disposed
 * of, which closes the link as well.
 */
export class DialledFlow<Link> implements Disposable {
  readonly link: Link;
  readonly resolved: Resolved;
  readonly #close: (link: Link) => void;
  readonly #place: FlowPlace | undefined;
  #isOver = false;

  /**
   * The caller must have called `hold` on the version.
   *
   * @param place the record of its descriptors, if they are counted.
   */
  constructor(link: Link, resolved: Resolved, close: (link: Link) => void, place?: FlowPlace) {
    this.link = link;
    this.resolved = resolved;
    this.#close = close;
    this.#place = place;
  }

  /** Releases the version and closes the link. Idempotent. */
  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#close(this.link);
    this.#place?.release();
    this.resolved.version.release();
  }
}

/** The descriptor of a flow's destination, from the dial to the end of the flow. */
class FlowPlace implements DescriptorHolder {
  /** The time limit of the dial, until the dial has opened a link. */
  #limit: Deadline | undefined;
  #link: ByteLink | undefined;

  constructor(source: string | undefined, limit: Deadline) {
    this.#limit = limit;
    descriptorHolders.add(this, source);
  }

  /** Called when the dial has opened a link. */
  connected(link: ByteLink): void {
    this.#link = link;
    this.#limit = undefined;
  }

  /** Called when the flow has ended. A link whose reset waits for a slow peer keeps its descriptor until then. */
  release(): void {
    if (this.#link) void this.#link.closed.then(() => descriptorHolders.delete(this));
    else descriptorHolders.delete(this);
  }

  /** Aborts the dial, or destroys the link. */
  evict(cause: Error): void {
    this.#limit?.abort(gaveWay(cause));
    this.#link?.destroy(cause);
  }
}

const gaveWay = (cause: Error): DialError => new DialError('aborted', cause.message, { cause });

/**
 * Reserves a descriptor for a flow.
 * @throws {DialError} when the process has no descriptor for another flow of the client.
 */
function placeOf({ source }: Origin, limit: Deadline): FlowPlace {
  if (!systemSockets().hasRoomForFlow(source)) {
    throw new DialError('failed', 'this process has too many open files');
  }
  return new FlowPlace(source, limit);
}

/** Returns the record of a flow on the route `resolved`. */
export function flowInfo(
  request: StreamRequest | PacketRequest,
  destination: Destination,
  sniffed: string | undefined,
  { version, rule, epoch, isChosen }: Resolved,
): FlowInfo {
  const { inbound, user, source, session, account } = request.origin;
  return {
    session,
    inbound,
    user,
    source,
    destination,
    sniffed,
    outbound: version.tag,
    outboundVersion: version.version,
    rule,
    routingEpoch: epoch,
    isChosen,
    account,
  };
}
