import {
  addressText,
  blankEndpoint,
  copyEndpoint,
  type IpEndpoint,
  isSameAddress,
  isSameEndpoint,
  isWildcard,
  type ReceivedDatagrams,
  splitZone,
  toEndpoint,
  type Transmit,
} from '@weir/base/ip';
import type { Endpoint } from '../../addresses/addresses.ts';
import {
  costOfDatagram,
  keptData,
  MAX_UDP_PAYLOAD,
  MAX_UNSENT,
  MAX_UNSENT_OF_SOCKET,
  UDP_RECEIVE_BUFFER,
  UNSENT_ROOM,
} from '../../bounds/queue-bounds.ts';
import {
  AssociationOrder,
  type DescriptorHolders,
  descriptorHolders,
  type Ordered,
  Stage,
} from '../../bounds/shares.ts';
import { LinkClosedError } from '../../errors.ts';
import type { Packet, PacketLink } from '../../links/link.ts';
import { reachable, ReceivedUdp, type UdpReach } from '../../packets/packets.ts';
import type { UdpBindOptions, UdpSocket } from '../sockets.ts';
import type { Clock } from '../../time/clock.ts';
import { KernelDatagramSocket } from '../../../platform/sockets/datagrams/kernel-datagram-socket.ts';
import { SystemError } from '../../../platform/sockets/errno.ts';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import { EINVAL, EMFILE } from '../../../platform/sockets/linux.ts';

type Room = Pick<KernelIo['room'], 'takeForAssociation' | 'has'>;

/** Sockets that associations may always have: one client's TCP flows must not end other clients' UDP, such as DNS. */
const LEAST_SOCKETS = 32;

/** The socket of an association. */
interface AssociationSocket extends Ordered {
  close(cause: Error): void;
}

/**
 * The sockets of all UDP associations of a thread, of every inbound and outbound. Clients may open any
 * number of them; they share the descriptors that are not reserved (`DescriptorRoom`).
 */
export class AssociationSockets {
  readonly #room: Room;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #holders: Pick<DescriptorHolders, 'makeRoom'>;
  readonly #order = new AssociationOrder<AssociationSocket, string>();

  constructor(
    room: Room,
    clock: Pick<Clock, 'now'>,
    holders: Pick<DescriptorHolders, 'makeRoom'> = descriptorHolders,
  ) {
    this.#room = room;
    this.#clock = clock;
    this.#holders = holders;
  }

  get size(): number {
    return this.#order.size;
  }

  /** Returns the time of the monotonic clock, in milliseconds. */
  now(): number {
    return this.#clock.now();
  }

  /**
   * Makes sure that a descriptor is free for another socket of a client, by closing the socket of another association
   * if necessary (`AssociationOrder`), or, while there are few associations, those of a client with more flows.
   * @throws {SystemError} `EMFILE` when none may be closed.
   */
  makeRoom(client: string): void {
    if (this.#room.takeForAssociation()) return;
    // Before one of the few associations is closed.
    while (this.size < LEAST_SOCKETS) {
      if (this.#room.has(1)) return;
      if (!this.#holders.makeRoom(client)) break;
    }
    const victim = this.#order.victim(client, this.#clock.now());
    if (victim === undefined) throw new SystemError('bind', EMFILE);
    victim.close(new LinkClosedError('too many open files: it gave way to another association'));
  }

  add(socket: AssociationSocket, client: string): void {
    this.#order.add(socket, client);
  }

  /** Records a response; see `AssociationOrder`. */
  answered(socket: AssociationSocket): void {
    this.#order.answered(socket);
  }

  /** Records a datagram after a response; see `AssociationOrder`. */
  lasts(socket: AssociationSocket): void {
    this.#order.lasts(socket);
  }

  delete(socket: AssociationSocket): void {
    this.#order.delete(socket);
  }
}

/** Datagrams of one turn that are sent with one call. */
const GATHERED = 64;
/**
 * Peers whose last destination is remembered; beyond this number the one that has been silent the longest is forgotten.
 */
const MOST_PEERS = 4096;

/**
 * A UDP socket of the kernel layer as a PacketLink, with the behaviour of `UdpLink`. Datagrams are
 * received in batches, and those of one turn are sent with one call.
 */
export class KernelUdpLink extends ReceivedUdp implements UdpSocket, Ordered {
  /** The bound address, the port that the kernel chose included. */
  readonly local: Endpoint;
  readonly closed: Promise<Error | undefined>;
  /** The stage of the association; see `AssociationOrder`. */
  stage: Stage = Stage.unanswered;
  activeAt = 0;
  readonly #associations: AssociationSockets | undefined;
  #onUnreachable: PacketLink['onUnreachable'];
  readonly #socket: KernelDatagramSocket;
  readonly #io: KernelIo;
  readonly #reach: UdpReach;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #outgoing: Transmit[] = [];
  #scheduled = false;
  /** Whether the send buffer of the kernel is full. */
  #full = false;
  /** Memory of `#outgoing` while it is queued for the kernel, in bytes. */
  #unsent = 0;
  #ended = false;
  // Most links exchange many datagrams with one peer in a row: its address is cached in each form.
  #lastTarget: Endpoint | undefined;
  #lastDestination: IpEndpoint = blankEndpoint();
  #lastKey = '';
  #lastPeer: IpEndpoint = blankEndpoint();
  #lastFrom: Endpoint = { host: '', port: 0 };
  /** The own address that received each peer's last datagram, for links that respond from it. */
  readonly #ownOf: Map<string, IpEndpoint> | undefined;
  #lastOwn: IpEndpoint | undefined;

  /**
   * Opens and binds a socket.
   * @param associations counts the sockets of clients.
   * @throws {SystemError} (`EADDRINUSE`, `EADDRNOTAVAIL`, `EAFNOSUPPORT` without IPv6; `EMFILE` where
   *   there is no room for another association).
   */
  static override bind(
    io: KernelIo,
    options: UdpBindOptions,
    associations?: AssociationSockets,
  ): KernelUdpLink {
    return new KernelUdpLink(io, options, associations);
  }

  private constructor(
    io: KernelIo,
    options: UdpBindOptions,
    associations: AssociationSockets | undefined,
  ) {
    super(options);
    const { family, address = family === 4 ? '0.0.0.0' : '::', port = 0 } = options;
    this.#io = io;
    const local = this.#endpointOf({ host: address, port });
    if (local === undefined) throw new SystemError('bind', EINVAL, { address, port });
    this.#reach = { family, dualStack: family === 6 && isWildcard(local) };
    if (options.peer && !this.#aim(options.peer)) {
      const { host, port } = options.peer;
      throw new SystemError('connect', EINVAL, { address: host, port });
    }
    if (options.respondsFromOwn && isWildcard(local)) this.#ownOf = new Map();
    const { association } = options;
    if (association !== undefined) associations?.makeRoom(association);
    this.#socket = new KernelDatagramSocket(
      io,
      {
        local,
        remote: options.peer && this.#endpointOf(options.peer),
        receiveBuffer: UDP_RECEIVE_BUFFER,
        details: this.#ownOf !== undefined,
        coalesce: true,
      },
      {
        onDatagrams: (received) => this.#onDatagrams(received),
        onWritable: () => {
          this.#full = false;
          this.#flush();
        },
        onUnreachable: (destination, what) =>
          this.#onUnreachable?.(this.#textOf(destination), `${what} unreachable`),
      },
    );
    this.local = this.#textOf(this.#socket.local);
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    void this.#socket.closed.then((cause) => this.close(cause));
    if (association === undefined || associations === undefined) return;
    this.#associations = associations;
    this.activeAt = associations.now();
    associations.add(this, association);
  }

  set onUnreachable(report: PacketLink['onUnreachable']) {
    this.#onUnreachable = report;
    if (report) this.#socket.reportErrors();
  }

  send({ data, peer }: Packet): void {
    if (
      this.#ended ||
      (peer !== this.#lastTarget && !this.#aim(peer)) ||
      data.length > MAX_UDP_PAYLOAD[this.#reach.family] ||
      this.#outgoing.length >= MAX_UNSENT ||
      (this.#full && !this.#mayWait(data.length))
    ) {
      this.refused++;
      return;
    }
    this.#outgoing.push({
      destination: this.#lastDestination,
      buffer: this.#full ? keptData(data) : data,
      offset: 0,
      length: data.length,
      segmentSize: 0,
      source: this.#ownOf?.get(this.#lastKey),
      ecn: 0,
    });
    this.bytesWritten += data.length;
    if (this.stage === Stage.answered) this.#associations?.lasts(this);
    if (this.#full) return;
    if (this.#outgoing.length >= GATHERED) this.#flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      // After everything that promises of this turn send.
      process.nextTick(this.#onTurnEnd);
    }
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    // Datagrams that were accepted are sent before the socket is closed, if the kernel has room.
    try {
      this.#flush();
    } finally {
      this.#ended = true;
      this.#associations?.delete(this);
      this.#outgoing = [];
      this.#countUnsent();
      this.queue.end(cause);
      this.#socket.close();
      this.#resolveClosed(cause);
    }
  }

  readonly #onTurnEnd = (): void => {
    this.#scheduled = false;
    this.#flush();
  };

  /** Remembers the own address to which a peer has sent. */
  #remember(from: Endpoint, own: IpEndpoint): void {
    const known = this.#ownOf;
    if (!known) return;
    const kept = copyEndpoint(own);
    this.#lastOwn = kept;
    const key = keyOf(from);
    known.delete(key); // to move it to the end of the order
    known.set(key, kept);
    if (known.size <= MOST_PEERS) return;
    for (const [oldest] of known) {
      known.delete(oldest);
      break;
    }
  }

  /** Reserves room for a datagram that is queued for the kernel; returns false when there is none. */
  #mayWait(length: number): boolean {
    const cost = costOfDatagram(length);
    const own = this.#unsent;
    if (own + cost > MAX_UNSENT_OF_SOCKET || !UNSENT_ROOM.allows(own, cost)) return false;
    this.#unsent += cost;
    UNSENT_ROOM.bytes += cost;
    return true;
  }

  /** Recounts the datagrams that are queued for the kernel. */
  #countUnsent(): void {
    const before = this.#unsent;
    if (before === 0 && !this.#full) return;
    let now = 0;
    for (const { length } of this.#outgoing) now += costOfDatagram(length);
    this.#unsent = now;
    UNSENT_ROOM.bytes += now - before;
  }

  #flush(): void {
    if (this.#outgoing.length === 0 || this.#full || this.#ended) return;
    // If the send throws, the whole batch is dropped, as a network may do: the same datagrams must not make it throw
    // again.
    let done = this.#outgoing.length;
    try {
      const result = this.#socket.send(this.#outgoing);
      this.#full = result.full;
      done = result.done;
    } finally {
      if (done === this.#outgoing.length) this.#outgoing = [];
      else this.#outgoing.splice(0, done);
      this.#countUnsent();
    }
    if (this.#associations) this.activeAt = this.#associations.now();
  }

  /** Prepares a peer's address for this socket; returns false when the socket cannot reach it. */
  #aim(peer: Endpoint): boolean {
    const host = reachable(this.#reach, peer);
    if (host === undefined) return false;
    const destination = this.#endpointOf({ host, port: peer.port });
    if (destination === undefined) return false;
    this.#lastDestination = destination;
    this.#lastTarget = peer;
    this.#lastKey = keyOf({ host, port: peer.port });
    return true;
  }

  /** Returns the numbers of an IP address in text; `undefined` for a zone that does not exist. */
  #endpointOf({ host, port }: Endpoint): IpEndpoint | undefined {
    const { address, zone } = splitZone(host);
    const scope = zone === '' ? 0 : this.#io.addresses.zoneIndex(zone);
    return scope === 0 && zone !== '' ? undefined : toEndpoint(address, port, scope);
  }

  #textOf(endpoint: IpEndpoint): Endpoint {
    const { scope, port } = endpoint;
    const host = addressText(endpoint);
    return { host: scope === 0 ? host : `${host}%${this.#io.addresses.zoneName(scope)}`, port };
  }

  #onDatagrams({ peer, buffer, offset, length, stride, own }: ReceivedDatagrams): void {
    if (this.#associations) {
      this.activeAt = this.#associations.now();
      if (this.stage === Stage.unanswered) this.#associations.answered(this);
    }
    const isKnown = isSameEndpoint(peer, this.#lastPeer);
    if (!isKnown) {
      this.#lastPeer = copyEndpoint(peer);
      this.#lastFrom = this.#textOf(peer);
    }
    if (own && !(isKnown && this.#lastOwn && isSameAddress(own, this.#lastOwn))) {
      this.#remember(this.#lastFrom, own);
    }
    // At least once: a datagram may be empty.
    let at = 0;
    do {
      const size = Math.min(stride, length - at);
      this.deliver(copyOf(buffer, offset + at, size), this.#lastFrom);
      at += size;
    } while (at < length && !this.#ended);
  }
}

/** Returns a copy of a datagram, which its reader owns. */
function copyOf(buffer: Uint8Array, start: number, length: number): Uint8Array {
  const data = Buffer.allocUnsafe(length);
  data.set(buffer.subarray(start, start + length));
  return data;
}

const keyOf = ({ host, port }: Endpoint): string => `${host} ${port}`;
