import {
  type DatagramFeatures,
  type DatagramHandlers,
  type DatagramSocket,
  type DatagramSocketOptions,
  type SendResult,
  type Transmit,
  type UnreachablePart,
  addressText,
  isIPv4Endpoint,
  isWildcard,
  type IpEndpoint,
} from '@weir/base/ip';
import { claimPassed, type Claim } from '../../passed-sockets.ts';
import { Descriptor, SystemError } from '../errno.ts';
import type { KernelIo } from '../kernel-io.ts';
import {
  AF_INET,
  AF_INET6,
  EAGAIN,
  EBADF,
  ECONNREFUSED,
  EFAULT,
  EHOSTUNREACH,
  EINVAL,
  ENETUNREACH,
  ENOTSOCK,
  EPOLLERR,
  EPOLLIN,
  EPOLLOUT,
  IPPROTO_IP,
  IPPROTO_IPV6,
  IPV6_MTU_DISCOVER,
  IPV6_RECVERR,
  IPV6_RECVPKTINFO,
  IPV6_RECVTCLASS,
  IPV6_V6ONLY,
  IP_MTU_DISCOVER,
  IP_PKTINFO,
  IP_RECVERR,
  IP_RECVTOS,
  NONBLOCK_CLOEXEC,
  PMTUDISC_PROBE,
  SOCK_DGRAM,
  SOL_SOCKET,
  SOL_UDP,
  SO_RXQ_OVFL,
  UDP_GRO,
  UDP_SEGMENT,
} from '../linux.ts';
import { BATCH, type BatchSocket } from './control-messages.ts';
import type { Readiness, Resumable } from '../poller.ts';
import { putEndpoint } from '../sockaddr.ts';
import { bindToDevice, getOption, setBufferSize, setOption } from '../socket-options.ts';

/** Batches that one socket receives per turn; the rest follows in the next turn. */
const BATCHES_A_TURN = 4;
/** Bytes of a turn that a received buffer takes beside its own: an empty datagram costs some microseconds too. */
const BUFFER_COST = 256;
/** Milliseconds before sending is retried when no event can be registered. */
const RETRY_MS = 20;

/**
 * Receive errors that end the socket. All others concern single datagrams (ICMP errors, a removed
 * interface, memory pressure) and do not affect the socket.
 */
const FATAL: ReadonlySet<number> = new Set([EBADF, EFAULT, EINVAL, ENOTSOCK]);

/** Errors of destinations that ICMP reports. */
const REPORTED: ReadonlyMap<number, UnreachablePart> = new Map([
  [ECONNREFUSED, 'port'],
  [EHOSTUNREACH, 'host'],
  [ENETUNREACH, 'network'],
]);

/** A UDP socket of the kernel: implements the contract of `packages/base/src/ip/datagram-socket.ts` by batched calls. */
export class KernelDatagramSocket implements DatagramSocket, Readiness, Resumable {
  readonly local: IpEndpoint;
  readonly closed: Promise<Error | undefined>;
  readonly #io: KernelIo;
  readonly #handlers: DatagramHandlers;
  readonly #state: KernelSocket;
  readonly #slot: number;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #isConnected: boolean;
  /** The claim on a socket passed by a service manager. */
  readonly #claim: Claim | undefined;
  #waitsForRoom = false;
  /** Whether receiving waits for a share of a later turn. */
  #isDeferred = false;

  /**
   * Opens and binds the socket.
   * @throws {SystemError} of the system call `bind`, with Node's code and text.
   */
  constructor(io: KernelIo, options: DatagramSocketOptions, handlers: DatagramHandlers) {
    this.#io = io;
    this.#handlers = handlers;
    const { local } = options;
    this.#isConnected = options.remote !== undefined;
    const family = isIPv4Endpoint(local) ? AF_INET : AF_INET6;
    const { calls } = io;
    const target = { address: addressText(local), port: local.port };
    this.#claim = options.remote ? undefined : claimPassed('datagram', local);
    if (this.#claim) calls.debug?.adopt(this.#claim.fd);
    const fd = this.#claim?.fd ?? calls.socket(family, SOCK_DGRAM | NONBLOCK_CLOEXEC, 0);
    if (fd < 0) throw new SystemError('bind', calls.errno(), target);
    const descriptor = new Descriptor(calls, fd);
    try {
      const dualStack = family === AF_INET6 && isWildcard(local);
      const features = setOptions(io, fd, family, dualStack, options);
      const length = putEndpoint(io.scratch.words, 0, local, family);
      if (!this.#claim && calls.bind(fd, io.scratch.at, length) !== 0) {
        throw new SystemError('bind', calls.errno(), target);
      }
      if (options.remote) connect(io, fd, family, options.remote);
      const bound = io.addresses.localEndpointOf(fd);
      // Clients have to be notified of a port that the kernel chose.
      if (!bound && local.port === 0) throw new SystemError('getsockname', calls.errno(), target);
      this.local = bound ?? local;
      const { port } = this.local;
      this.#state = new KernelSocket(descriptor, family, dualStack, port, features, handlers);
      this.#slot = io.poller.add(fd, this, EPOLLIN);
      io.room.opened('datagrams');
    } catch (error) {
      descriptor.close();
      this.#claim?.release();
      throw error;
    }
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  get features(): DatagramFeatures {
    return this.#state.features;
  }

  get dropped(): number {
    return this.#state.dropped;
  }

  get overflowed(): number {
    return this.#state.overflowed;
  }

  send(transmits: readonly Transmit[], count = transmits.length, sentBytes = 0): SendResult {
    const result = this.#io.sender.send(this.#state, transmits, count, sentBytes);
    if (result.full && !this.#waitsForRoom) this.#waitForRoom(true);
    return result;
  }

  reportErrors(): void {
    const state = this.#state;
    if (state.fd < 0 || state.reportsErrors) return;
    state.reportsErrors = setOfBoth(this.#io, state, IP_RECVERR, IPV6_RECVERR);
  }

  ready(events: number): void {
    if (events & EPOLLERR && this.#state.reportsErrors) {
      this.#io.receiver.receiveErrors(this.#state, this.#onReported);
    }
    if (events & EPOLLOUT) {
      const waited = this.#waitsForRoom;
      // Always resets the events: otherwise a failed reset would produce the event in every turn.
      this.#waitForRoom(false);
      if (waited) this.#handlers.onWritable?.();
    }
    // Level-triggered: a socket that waits for its turn is reported in every turn until then.
    if (!this.#isDeferred) this.#receiveShare();
  }

  resume(): void {
    this.#isDeferred = false;
    this.#receiveShare();
  }

  readonly #onReported = (destination: IpEndpoint, error: number): void => {
    const what = REPORTED.get(error);
    if (what !== undefined) this.#handlers.onUnreachable?.(destination, what);
  };

  close(cause?: Error): void {
    if (this.#state.fd < 0) return;
    // A passed socket stays open, and epoll would continue to report it.
    if (this.#claim) this.#io.poller.detach(this.#slot, this.#state.fd);
    else this.#io.poller.remove(this.#slot);
    this.#state.descriptor.close();
    this.#io.room.closed('datagrams');
    this.#claim?.release();
    this.#resolveClosed(cause);
  }

  /**
   * Receives in this turn, or in a later one if other sockets have used up this one: before bulk data of streams, because
   * one socket may have the datagrams of all clients, and the kernel drops those that wait for long.
   */
  #receiveShare(): void {
    const { poller } = this.#io;
    if (!poller.mayMove && this.#state.fd >= 0) {
      this.#isDeferred = true;
      poller.later(this);
    } else if (this.#receive()) this.#handlers.onDrained?.();
  }

  /** Receives batches. Returns whether any datagram was received and the socket is still open. */
  #receive(): boolean {
    let received = false;
    for (let i = 0; i < BATCHES_A_TURN && this.#state.fd >= 0; i++) {
      const count = this.#io.receiver.receive(this.#state, this.#handlers.onDatagrams);
      if (count < 0) {
        if (FATAL.has(-count) || (this.#isConnected && count === -ECONNREFUSED)) {
          this.close(new SystemError('recvmsg', -count));
        }
        // The error of one datagram was cleared; more datagrams may follow.
        if (count === -EAGAIN) break;
        continue;
      }
      received = true;
      this.#io.poller.moved(this.#io.receiver.received + count * BUFFER_COST);
      if (count < BATCH || !this.#io.poller.mayMove) break;
    }
    return received && this.#state.fd >= 0;
  }

  #waitForRoom(waits: boolean): void {
    this.#waitsForRoom = waits;
    const { poller, timers } = this.#io;
    const events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (poller.modify(this.#slot, this.#state.fd, events) || !waits) return;
    // No event will come: retries after a delay instead.
    timers.after(RETRY_MS, () => {
      if (this.#state.fd < 0 || !this.#waitsForRoom) return;
      this.#waitsForRoom = false;
      this.#handlers.onWritable?.();
    });
  }
}

/** Connects a socket to its peer, bypassing devices that must not be used. @throws {SystemError} */
function connect(io: KernelIo, fd: number, family: number, remote: IpEndpoint): void {
  const target = { address: addressText(remote), port: remote.port };
  const { calls, scratch } = io;
  const error = bindToDevice(io, fd, remote);
  if (error !== 0) throw new SystemError('connect', error, target);
  const length = putEndpoint(scratch.words, 0, remote, family);
  if (calls.connect(fd, scratch.at, length) !== 0) {
    throw new SystemError('connect', calls.errno(), target);
  }
}

/** The state of a socket that batches read and update. */
class KernelSocket implements BatchSocket {
  readonly descriptor: Descriptor;
  readonly family: number;
  readonly dualStack: boolean;
  readonly port: number;
  readonly features: { -readonly [key in keyof DatagramFeatures]: boolean };
  readonly onUnreachable: DatagramHandlers['onUnreachable'];
  reportsErrors = false;
  dropped = 0;
  overflowed = 0;

  constructor(
    descriptor: Descriptor,
    family: number,
    dualStack: boolean,
    port: number,
    features: DatagramFeatures,
    { onUnreachable }: DatagramHandlers,
  ) {
    this.onUnreachable = onUnreachable;
    this.descriptor = descriptor;
    this.family = family;
    this.dualStack = dualStack;
    this.port = port;
    this.features = { ...features };
  }

  get fd(): number {
    return this.descriptor.number;
  }

  get segmentation(): boolean {
    return this.features.segmentation;
  }

  set segmentation(works: boolean) {
    this.features.segmentation = works;
  }
}

/** Sets the requested options as far as the kernel supports them; returns those in effect. */
function setOptions(
  io: KernelIo,
  fd: number,
  family: number,
  dualStack: boolean,
  options: DatagramSocketOptions,
): DatagramFeatures {
  const { receiveBuffer, sendBuffer, coalesce = false, details = false, dontFragment } = options;
  const isIPv6 = family === AF_INET6;
  const takes = (level: number, name: number, value = 1): boolean =>
    setOption(io, fd, level, name, value) === 0;
  if (isIPv6) takes(IPPROTO_IPV6, IPV6_V6ONLY, dualStack ? 0 : 1);
  if (receiveBuffer !== undefined) setBufferSize(io, fd, 'receive', receiveBuffer);
  if (sendBuffer !== undefined) setBufferSize(io, fd, 'send', sendBuffer);
  const takesBoth = (v4: number, v6: number, value = 1): boolean =>
    setOfBoth(io, { fd, family, dualStack }, v4, v6, value);
  return {
    // Without UDP_SEGMENT the kernel rejects this option.
    segmentation: getOption(io, fd, SOL_UDP, UDP_SEGMENT) !== undefined,
    coalescing: coalesce && takes(SOL_UDP, UDP_GRO),
    // An IPv6 socket reports own IPv4 addresses in mapped form.
    ownAddress:
      details && (isIPv6 ? takes(IPPROTO_IPV6, IPV6_RECVPKTINFO) : takes(IPPROTO_IP, IP_PKTINFO)),
    ecn: details && takesBoth(IP_RECVTOS, IPV6_RECVTCLASS),
    dontFragment:
      dontFragment === true && takesBoth(IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, PMTUDISC_PROBE),
    overflow: takes(SOL_SOCKET, SO_RXQ_OVFL),
  };
}

/** Sets an option for each address family of the socket. @returns whether the kernel accepts the option */
function setOfBoth(
  io: KernelIo,
  { fd, family, dualStack }: Pick<KernelSocket, 'fd' | 'family' | 'dualStack'>,
  v4: number,
  v6: number,
  value = 1,
): boolean {
  const isIPv6 = family === AF_INET6;
  return (
    (!isIPv6 || setOption(io, fd, IPPROTO_IPV6, v6, value) === 0) &&
    ((isIPv6 && !dualStack) || setOption(io, fd, IPPROTO_IP, v4, value) === 0)
  );
}
