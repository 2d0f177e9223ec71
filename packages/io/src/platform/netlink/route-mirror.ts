import { IFF_UP } from './interface.ts';
import { isIPv4Endpoint, type IpEndpoint } from '@weir/base/ip';
import { Descriptor, SystemError } from '../sockets/errno.ts';
import type { KernelIo } from '../sockets/kernel-io.ts';
import {
  AF_INET,
  AF_INET6,
  EAGAIN,
  EINTR,
  ENOBUFS,
  EPOLLIN,
  MSG_DONTWAIT,
  NONBLOCK_CLOEXEC,
  SOCK_DGRAM,
} from '../sockets/linux.ts';
import type { NativeMemory } from '../native-memory.ts';
import type { Readiness } from '../sockets/poller.ts';
import { setBufferSize } from '../sockets/socket-options.ts';
import {
  type KernelRoute,
  KernelRoutes,
  LIST_INTERVAL_MS,
  NOTIFICATIONS_KEPT,
  READS_A_TURN,
  type RouteLookup,
} from './kernel-routes.ts';
import {
  AF_NETLINK,
  encodeRequest,
  NETLINK_ROUTE,
  type NetlinkMessage,
  NLM_F_DUMP,
  NLM_F_DUMP_INTR,
  NLM_F_MULTI,
  NLM_F_REPLACE,
  NLMSG_DONE,
  NLMSG_ERROR,
  readMessages,
} from './netlink-socket.ts';
import {
  readRouteEntry,
  readRule,
  RoutingRules,
  RTM_DELADDR,
  RTM_DELLINK,
  RTM_DELROUTE,
  RTM_DELRULE,
  RTM_GETROUTE,
  RTM_GETRULE,
  RTM_NEWADDR,
  RTM_NEWLINK,
  RTM_NEWROUTE,
  RTM_NEWRULE,
} from './route-messages.ts';

/**
 * Multicast groups (include/uapi/linux/rtnetlink.h): interfaces, then addresses, routes and rules of
 * IPv4, then those of IPv6.
 */
const GROUPS = 0x1 | 0x10 | 0x40 | 0x80 | 0x100 | 0x400 | (1 << 18);

const IFINFO_LENGTH = 16;
const BODY_LENGTH = 12;
/** Bytes of the header of a message, and of the body. */
const REQUEST_LENGTH = 16 + BODY_LENGTH;
/** Attempts to read the first dumps if a reply is lost. */
const MOST_ATTEMPTS = 3;

/** The dumps, in order: a socket can have only one at a time. */
const LISTS: readonly (readonly [type: number, family: number])[] = [
  [RTM_GETRULE, AF_INET],
  [RTM_GETRULE, AF_INET6],
  [RTM_GETROUTE, AF_INET],
  [RTM_GETROUTE, AF_INET6],
];

/** Handlers of notifications. They must not throw. */
interface MirrorHandlers {
  /** Called when routes or rules have changed. */
  readonly onRoutes: () => void;
  /** Called when the state of an interface, or an address or a route of it, may have changed. */
  readonly onDevice: (device: number) => void;
  /** Called when notifications were lost: the state of any interface may have changed. */
  readonly onLoss: () => void;
}

/**
 * The routes and rules of the system, kept current by the kernel's notifications, so that route
 * look-ups need no query.
 *
 * Dumps and notifications arrive on one socket, in order. A dump is requested at the start, after
 * lost notifications (ENOBUFS), and after changes that the kernel does not report completely. It is
 * read in limited shares per turn of the event loop; the previous state is used meanwhile.
 */
export class RouteMirror implements Readiness, Disposable {
  readonly #io: KernelIo;
  readonly #handlers: MirrorHandlers;
  readonly #table = new KernelRoutes();
  readonly #rules = new RoutingRules();
  readonly #request: NativeMemory;
  #socket: Descriptor;
  #slot = -1;
  #sequence = 0;
  /** Index in LISTS of the dump that is being read; -1 for none. */
  #list = -1;
  /** Whether another dump is needed because the state may be incomplete. */
  #isStale = false;
  #timer: { cancel(): void } | undefined;
  #touched = new Set<number>();
  #hasChanged = false;
  #hasLost = false;
  #isDisposed = false;

  /** Reads the first dumps synchronously. @throws {SystemError} without netlink. */
  constructor(io: KernelIo, handlers: MirrorHandlers) {
    this.#io = io;
    this.#handlers = handlers;
    this.#request = io.calls.memory(REQUEST_LENGTH);
    this.#socket = this.#open();
    for (let attempt = 0; !this.#readAll(); attempt++) {
      if (attempt < MOST_ATTEMPTS) this.#socket = this.#open();
      else throw new SystemError('recv', ENOBUFS);
    }
  }

  /** Whether no route was ignored because there are too many. */
  get isComplete(): boolean {
    return this.#table.isComplete;
  }

  /** Returns the best route to a destination by an interface that may be used. */
  find(destination: IpEndpoint, mayUse: (device: number) => boolean): RouteLookup {
    return this.#rules.find(this.#table, destination, mayUse);
  }

  /** Whether a table has a route to a network by an interface. */
  has(table: number, network: IpEndpoint, prefix: number, device: number): boolean {
    return this.#table.has(table, network, prefix, device);
  }

  ready(): void {
    let reads = 0;
    while (reads < READS_A_TURN && this.#read()) reads++;
    this.#report();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer?.cancel();
    this.#close();
  }

  /** Reads the first dumps; returns false if a part was lost. */
  #readAll(): boolean {
    this.#beginLists();
    // The kernel prepares each part when the previous one is read, so nothing blocks.
    while (this.#list >= 0 && this.#read());
    if (this.#socket.number < 0) return false;
    this.#report();
    return true;
  }

  #open(): Descriptor {
    const { calls, scratch, poller } = this.#io;
    const fd = calls.socket(AF_NETLINK, SOCK_DGRAM | NONBLOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) throw new SystemError('socket', calls.errno());
    const socket = new Descriptor(calls, fd);
    try {
      setBufferSize(this.#io, fd, 'receive', NOTIFICATIONS_KEPT);
      // struct sockaddr_nl: family 0, port 4, groups 8.
      scratch.words.set([AF_NETLINK, 0, GROUPS]);
      if (calls.bind(fd, scratch.at, 12) !== 0) throw new SystemError('bind', calls.errno());
      this.#slot = poller.add(fd, this, EPOLLIN, false);
      return socket;
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  #close(): void {
    if (this.#socket.number < 0) return;
    this.#io.poller.remove(this.#slot);
    this.#socket.close();
  }

  /** Reads one datagram; returns false if there is none. */
  #read(): boolean {
    if (this.#socket.number < 0) return false;
    const { calls, scratch } = this.#io;
    const { at, bytes } = scratch;
    const length = calls.recv(this.#socket.number, at, bytes.length, MSG_DONTWAIT);
    if (length >= 0) {
      for (const message of readMessages(bytes.subarray(0, length))) this.#take(message);
      return true;
    }
    const number = calls.errno();
    if (number === EINTR) return true;
    if (number !== EAGAIN) this.#onLoss();
    return false;
  }

  /** Handles the loss of messages, possibly including the end of a dump: starts over with a new socket and dump. */
  #onLoss(): void {
    this.#close();
    this.#list = -1;
    this.#isStale = true;
    this.#hasLost = true;
  }

  #take(message: NetlinkMessage): void {
    const isOfList = this.#list >= 0 && message.sequence === this.#sequence;
    if (isOfList && (message.flags & NLM_F_DUMP_INTR) !== 0) this.#isStale = true;
    switch (message.type) {
      case NLMSG_DONE:
      case NLMSG_ERROR:
        // A kernel without policy routing, or without IPv6, returns an error instead of a dump.
        if (isOfList) this.#nextList();
        break;
      case RTM_NEWROUTE:
      case RTM_DELROUTE:
        this.#takeRoute(message);
        break;
      case RTM_NEWRULE:
        this.#takeRule(message, isOfList);
        break;
      case RTM_DELRULE:
        this.#isStale = true;
        break;
      case RTM_NEWLINK:
      case RTM_DELLINK:
        this.#takeLink(message);
        break;
      case RTM_NEWADDR:
      case RTM_DELADDR:
        if (message.body.length >= 8) this.#touched.add(message.body.readInt32LE(4));
        // Routes with that source address are removed without a notification.
        if (message.type === RTM_DELADDR) this.#isStale = true;
        break;
      default:
    }
  }

  #takeRoute(message: NetlinkMessage): void {
    const route = readRouteEntry(message);
    if (!route) return;
    const isPart = (message.flags & NLM_F_MULTI) !== 0;
    if (!isPart) for (const device of route.devices) this.#touched.add(device);
    if (message.type === RTM_NEWROUTE) {
      // The notification does not name the devices of the replaced route.
      const replaces = !isPart && (message.flags & NLM_F_REPLACE) !== 0;
      if (replaces) this.#isStale = true;
      if (this.#table.add(route, replaces)) this.#hasChanged = true;
    } else if (this.#table.delete(route)) this.#hasChanged = true;
    // An unknown part of a route, such as one of several next hops.
    else if (isKept(route)) this.#isStale = true;
  }

  #takeRule(message: NetlinkMessage, isOfList: boolean): void {
    if (!isOfList) {
      this.#isStale = true;
      return;
    }
    const rule = readRule(message);
    if (rule) this.#rules.add(rule);
  }

  #takeLink({ type, body }: NetlinkMessage): void {
    if (body.length < IFINFO_LENGTH) return;
    const device = body.readInt32LE(4);
    this.#touched.add(device);
    const isUp = type === RTM_NEWLINK && (body.readUInt32LE(8) & IFF_UP) !== 0;
    if (isUp) this.#isStale ||= this.#table.isReduced;
    else if (this.#table.deleteDevice(device)) this.#hasChanged = true;
  }

  /** Calls the handlers, and requests another dump if needed. */
  #report(): void {
    if (this.#hasChanged) {
      this.#hasChanged = false;
      this.#handlers.onRoutes();
    }
    if (this.#touched.size > 0) {
      const touched = this.#touched;
      this.#touched = new Set();
      for (const device of touched) this.#handlers.onDevice(device);
    }
    // After the state is complete again.
    if (this.#hasLost && this.#list < 0 && this.#socket.number >= 0) {
      this.#hasLost = false;
      this.#handlers.onLoss();
    }
    if (this.#isStale && this.#list < 0) this.#listSoon();
  }

  #listSoon(): void {
    if (this.#isDisposed) return;
    this.#timer ??= this.#io.timers.after(LIST_INTERVAL_MS, () => {
      this.#timer = undefined;
      try {
        if (this.#socket.number < 0) this.#socket = this.#open();
        this.#beginLists();
      } catch {
        // Out of descriptors or memory: keeps the current state and retries.
        this.#isStale = true;
      }
      this.#report();
    });
  }

  #beginLists(): void {
    this.#isStale = false;
    this.#list = 0;
    this.#rules.beginList();
    this.#table.beginList();
    this.#ask();
  }

  #nextList(): void {
    this.#list++;
    if (this.#list < LISTS.length) {
      this.#ask();
      return;
    }
    this.#list = -1;
    this.#rules.endList();
    this.#table.endList();
    this.#hasChanged = true;
  }

  #ask(): void {
    const [type, family] = LISTS[this.#list] ?? [RTM_GETROUTE, AF_INET]; // within
    const body = Buffer.alloc(BODY_LENGTH);
    body[0] = family;
    const request = encodeRequest(type, NLM_F_DUMP, ++this.#sequence, body, []);
    // Not in the scratch memory, which is being read.
    this.#request.bytes.set(request);
    const { calls } = this.#io;
    if (calls.send(this.#socket.number, this.#request.at, request.length, 0) < 0) this.#onLoss();
  }
}

/** Whether a route is kept; those of broadcast and multicast addresses are not. */
const isKept = ({ kind, network }: KernelRoute): boolean =>
  kind !== 'local' || isIPv4Endpoint(network);
