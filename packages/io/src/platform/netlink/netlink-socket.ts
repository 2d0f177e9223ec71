import type { SystemCalls } from '../sockets/bindings.ts';
import { Descriptor } from '../sockets/descriptor.ts';
import { errorText, SystemError } from '../sockets/errno.ts';
import { EBADF, EINTR, MSG_DONTWAIT, SOCK_CLOEXEC, SOCK_DGRAM } from '../sockets/linux.ts';
import type { NativeMemory } from '../native-memory.ts';
import {
  encodeRequest,
  NLM_F_ACK,
  NLM_F_DUMP,
  NLMSG_DONE,
  NLMSG_ERROR,
  readAcknowledgement,
  readMessages,
  type Attribute,
  type NetlinkMessage,
} from './message.ts';

export const AF_NETLINK = 16;
export const NETLINK_ROUTE = 0;
const SOL_NETLINK = 270;
const NETLINK_EXT_ACK = 11;

/** The kernel sends dumps in datagrams of at most 32 KB (netlink(7)). */
const LARGEST_DATAGRAM = 64 << 10;

/** The error of a request of rtnetlink that the kernel refused. */
export class NetlinkError extends SystemError {
  /** The kernel's description of the error. */
  readonly reason: string;

  /**
   * @param request a description of the request: `add the address 10.0.0.1/24`.
   * @param number the positive value of `errno`.
   */
  constructor(request: string, number: number, text: string | undefined) {
    super(request, number);
    this.reason = text === undefined || text === '' ? errorText(number) : text;
  }
}

/**
 * A socket of rtnetlink(7). The kernel handles a request before `send` returns, so the reply is
 * available immediately and nothing blocks.
 *
 * A call that fails for lack of memory (ENOBUFS, ENOMEM) may have lost the reply, or left a stale
 * one in the queue. The socket is then closed, and the next request opens a new one.
 */
export class NetlinkSocket implements Disposable {
  readonly #calls: SystemCalls;
  #socket: Descriptor;
  readonly #memory: NativeMemory;
  #sequence = 0;
  #isClosed = false;

  /**
   * Opens the socket.
   * @throws {SystemError} if netlink is not available.
   */
  constructor(calls: SystemCalls) {
    this.#calls = calls;
    this.#memory = calls.memory(LARGEST_DATAGRAM);
    this.#socket = this.#open();
  }

  /**
   * Requests a change.
   *
   * @param request a description for the error.
   * @throws {NetlinkError} when the kernel refuses.
   */
  request(
    request: string,
    type: number,
    flags: number,
    body: Uint8Array,
    attributes: readonly Attribute[] = [],
  ): void {
    const sequence = this.#send(type, flags | NLM_F_ACK, body, attributes);
    for (;;) {
      for (const message of readMessages(this.#receive())) {
        if (message.sequence !== sequence || message.type !== NLMSG_ERROR) continue;
        const { errno, text } = readAcknowledgement(message);
        if (errno !== 0) throw new NetlinkError(request, errno, text);
        return;
      }
    }
  }

  /**
   * Queries one object; repeats the query once if the reply was lost.
   *
   * @returns the reply, a view that the next call overwrites.
   * @throws {NetlinkError} when the kernel refuses.
   * @throws {SystemError} if there is no reply.
   */
  query(
    request: string,
    type: number,
    body: Uint8Array,
    attributes: readonly Attribute[],
  ): NetlinkMessage | undefined {
    try {
      return this.#query(request, type, body, attributes);
    } catch (error) {
      if (error instanceof NetlinkError || this.#isClosed) throw error;
      return this.#query(request, type, body, attributes);
    }
  }

  #query(
    request: string,
    type: number,
    body: Uint8Array,
    attributes: readonly Attribute[],
  ): NetlinkMessage | undefined {
    const sequence = this.#send(type, 0, body, attributes);
    for (;;) {
      for (const message of readMessages(this.#receive())) {
        if (message.sequence !== sequence) continue;
        if (message.type !== NLMSG_ERROR) return message;
        const { errno, text } = readAcknowledgement(message);
        if (errno === 0) return undefined;
        throw new NetlinkError(request, errno, text);
      }
    }
  }

  /**
   * Lists objects.
   *
   * @param request a description for the error.
   * @param take called with each object; the message is a view that the next one overwrites.
   * @param most the most objects to read; further ones are not read.
   * @returns whether the list was read to its end.
   * @throws {NetlinkError} when the kernel refuses.
   * @throws {SystemError} if a reply is lost.
   */
  list(
    request: string,
    type: number,
    body: Uint8Array,
    take: (message: NetlinkMessage) => void,
    most: number,
  ): boolean {
    const sequence = this.#send(type, NLM_F_DUMP, body, []);
    let count = 0;
    for (;;) {
      // The kernel prepares each part when the previous one is read, so nothing blocks.
      for (const message of readMessages(this.#receive())) {
        if (message.sequence !== sequence) continue;
        if (message.type === NLMSG_DONE) return true;
        if (message.type === NLMSG_ERROR) {
          const { errno, text } = readAcknowledgement(message);
          throw new NetlinkError(request, errno, text);
        }
        if (count++ === most) {
          // The rest of the list is discarded with the socket; the next request opens another.
          this.#socket.close();
          return false;
        }
        take(message);
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #open(): Descriptor {
    const calls = this.#calls;
    const fd = calls.socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) throw new SystemError('socket', calls.errno());
    // Requests descriptions of errors; a kernel without them sends only the number.
    this.#memory.words[0] = 1;
    calls.setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, this.#memory.at, 4);
    return new Descriptor(calls, fd);
  }

  #send(type: number, flags: number, body: Uint8Array, attributes: readonly Attribute[]): number {
    if (this.#isClosed) throw new SystemError('send', EBADF);
    if (this.#socket.number < 0) this.#socket = this.#open();
    const sequence = ++this.#sequence;
    const bytes = encodeRequest(type, flags, sequence, body, attributes);
    this.#memory.bytes.set(bytes);
    const sent = this.#calls.send(this.#socket.number, this.#memory.at, bytes.length, 0);
    if (sent < 0) {
      const error = new SystemError('send', this.#calls.errno());
      this.#socket.close();
      throw error;
    }
    return sequence;
  }

  #receive(): Buffer {
    for (;;) {
      const length = this.#calls.recv(
        this.#socket.number,
        this.#memory.at,
        LARGEST_DATAGRAM,
        MSG_DONTWAIT, // a lost reply must not block the process
      );
      if (length >= 0) return this.#memory.bytes.subarray(0, length);
      const number = this.#calls.errno();
      if (number === EINTR) continue;
      this.#socket.close();
      throw new SystemError('recv', number);
    }
  }
}
