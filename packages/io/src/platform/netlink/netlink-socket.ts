import type { NativeMemory } from '../native-memory.ts';
import type { SystemCalls } from '../sockets/bindings.ts';
import { Descriptor, errorText, SystemError } from '../sockets/errno.ts';
import { EBADF, EINTR, MSG_DONTWAIT, SOCK_CLOEXEC, SOCK_DGRAM } from '../sockets/linux.ts';

/**
 * Netlink messages (RFC 3549; include/uapi/linux/netlink.h): a header of 16 bytes, a body that
 * depends on the type, and attributes. Numbers are in the machine's byte order; both supported
 * machines are little-endian. Nothing here calls the kernel.
 */

/** `struct nlmsghdr`: length 0, type 4, flags 6, sequence 8, port 12. */
const HEADER = 16;
/** `struct rtattr`: length 0, type 2. */
const ATTRIBUTE_HEADER = 4;

export const NLMSG_ERROR = 2;
export const NLMSG_DONE = 3;

const NLM_F_REQUEST = 0x1;
export const NLM_F_MULTI = 0x2;
export const NLM_F_ACK = 0x4;
/** Flag: the dump changed while it was read. */
export const NLM_F_DUMP_INTR = 0x10;
export const NLM_F_DUMP = 0x300;
export const NLM_F_REPLACE = 0x100;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;
/** Flag: the error does not contain the request; its attributes follow immediately. */
const NLM_F_CAPPED = 0x100;
/** Flag: the error has attributes. */
const NLM_F_ACK_TLVS = 0x200;

/** The attribute with the kernel's description of an error. */
const NLMSGERR_ATTR_MSG = 1;

/** Rounds a length up to a multiple of four, at which messages, their bodies and attributes begin. */
export const aligned = (length: number): number => (length + 3) & ~3;

/** One attribute of a request. */
export interface Attribute {
  readonly type: number;
  readonly value: Uint8Array;
}

/** Returns an attribute of four bytes. */
export const wordAttribute = (type: number, value: number): Attribute => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return { type, value: bytes };
};

/** An attribute that contains attributes. */
export const nestedAttribute = (type: number, attributes: readonly Attribute[]): Attribute => ({
  type: type | 0x8000, // NLA_F_NESTED
  value: encodeAttributes(attributes),
});

/** Encodes a request. */
export function encodeRequest(
  type: number,
  flags: number,
  sequence: number,
  body: Uint8Array,
  attributes: readonly Attribute[],
): Buffer {
  const tail = encodeAttributes(attributes);
  const bytes = Buffer.alloc(HEADER + aligned(body.length) + tail.length);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(type, 4);
  bytes.writeUInt16LE(flags | NLM_F_REQUEST, 6);
  bytes.writeUInt32LE(sequence, 8);
  bytes.set(body, HEADER);
  bytes.set(tail, HEADER + aligned(body.length));
  return bytes;
}

function encodeAttributes(attributes: readonly Attribute[]): Buffer {
  const length = attributes.reduce(
    (sum, { value }) => sum + aligned(ATTRIBUTE_HEADER + value.length),
    0,
  );
  const bytes = Buffer.alloc(length);
  let at = 0;
  for (const { type, value } of attributes) {
    bytes.writeUInt16LE(ATTRIBUTE_HEADER + value.length, at);
    bytes.writeUInt16LE(type, at + 2);
    bytes.set(value, at + ATTRIBUTE_HEADER);
    at += aligned(ATTRIBUTE_HEADER + value.length);
  }
  return bytes;
}

/** A received message; its body is a view. */
export interface NetlinkMessage {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  readonly body: Buffer;
}

/** Yields the messages of a received datagram, in order, up to a truncated one. */
export function* readMessages(datagram: Buffer): Generator<NetlinkMessage> {
  let at = 0;
  while (at + HEADER <= datagram.length) {
    const length = datagram.readUInt32LE(at);
    if (length < HEADER || at + length > datagram.length) return;
    yield {
      type: datagram.readUInt16LE(at + 4),
      flags: datagram.readUInt16LE(at + 6),
      sequence: datagram.readUInt32LE(at + 8),
      body: datagram.subarray(at + HEADER, at + length),
    };
    at += aligned(length);
  }
}

/**
 * Returns the attributes after the first `skip` bytes of a body, by type; the values are views. The last
 * one of a type counts.
 */
export function readAttributes(body: Buffer, skip: number): Map<number, Buffer> {
  const attributes = new Map<number, Buffer>();
  let at = aligned(skip);
  while (at + ATTRIBUTE_HEADER <= body.length) {
    const length = body.readUInt16LE(at);
    if (length < ATTRIBUTE_HEADER || at + length > body.length) break;
    // The upper two bits are flags of the encoding.
    const type = body.readUInt16LE(at + 2) & 0x3fff;
    attributes.set(type, body.subarray(at + ATTRIBUTE_HEADER, at + length));
    at += aligned(length);
  }
  return attributes;
}

/** The contents of an NLMSG_ERROR. */
interface NetlinkAcknowledgement {
  /** A value of `errno`; 0 for success. */
  readonly errno: number;
  /** The kernel's description, if any. */
  readonly text: string | undefined;
}

/** Reads the body of an NLMSG_ERROR (`struct nlmsgerr`, then attributes). */
export function readAcknowledgement({ body, flags }: NetlinkMessage): NetlinkAcknowledgement {
  if (body.length < 4) return { errno: 0, text: undefined };
  const errno = 0 - body.readInt32LE(0);
  const hasText = (flags & NLM_F_ACK_TLVS) !== 0 && body.length >= 4 + HEADER;
  if (!hasText) return { errno, text: undefined };
  const length = (flags & NLM_F_CAPPED) !== 0 ? HEADER : body.readUInt32LE(4);
  // A request that is repeated ends in this body; `aligned` of 2^31 bytes would be negative.
  if (length > body.length) return { errno, text: undefined };
  const request = aligned(length);
  const text = readAttributes(body, 4 + request).get(NLMSGERR_ATTR_MSG);
  return { errno, text: text?.toString('latin1').split('\0', 1)[0] };
}

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

  /** Opens the socket. @throws {SystemError} if netlink is not available. */
  constructor(calls: SystemCalls) {
    this.#calls = calls;
    this.#memory = calls.memory(LARGEST_DATAGRAM);
    this.#socket = this.#open();
  }

  /**
   * Requests a change.
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
