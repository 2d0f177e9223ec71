import {
  blankEndpoint,
  MAPPED,
  type IpEndpoint,
  type MutableIpEndpoint,
  formatIPv4,
  formatIPv6,
  isMappedIPv4,
  putIPv4,
  putIPv6,
  putMappedIPv4,
  splitZone,
  ipVersion,
} from '@weir/base/ip';
import type { SystemCalls } from './bindings.ts';
import { SystemError } from './errno.ts';
import { AF_INET, AF_INET6, AF_UNIX, EAFNOSUPPORT, EINVAL } from './linux.ts';
import { swapBytes, type NativeMemory } from '../native-memory.ts';

/** An IP address as text, with a zone if needed, and a port. */
export interface IpAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * A unix socket; the path is empty for an unnamed one and begins with a NUL for an abstract one.
 */
interface UnixAddress {
  readonly path: string;
}

export type SocketAddress = IpAddress | UnixAddress;

/** `sizeof(struct sockaddr_un)`, the largest of the three. */
const SOCKADDR_LENGTH = 110;
const IN_LENGTH = 16;
const IN6_LENGTH = 28;
const MAX_PATH = 107;

/**
 * Structures of socket addresses in memory: `sockaddr_in`, `sockaddr_in6` and `sockaddr_un`.
 *
 * One object per thread serves all sockets: arguments are written immediately before a call.
 */
export class SocketAddresses {
  readonly #calls: SystemCalls;
  /** The address for the kernel. */
  readonly #out: NativeMemory;
  /** The address from the kernel, and its `socklen_t` at `LENGTH_AT`. */
  readonly #in: NativeMemory;
  readonly #name: NativeMemory;

  constructor(calls: SystemCalls) {
    this.#calls = calls;
    this.#out = calls.memory(SOCKADDR_LENGTH);
    this.#in = calls.memory(LENGTH_AT + 4);
    this.#name = calls.memory(16);
  }

  /** The memory address of the output of `encode`. */
  get at(): number {
    return this.#out.at;
  }

  /** The memory to which a call writes an address, and the location of its length. */
  get resultAt(): number {
    return this.#in.at;
  }

  get resultLengthAt(): number {
    return this.#in.at + LENGTH_AT;
  }

  /**
   * Writes an address for the next call.
   * @param family the family of the socket: an IPv6 socket reaches IPv4 addresses in mapped form.
   * @returns the length of the address in bytes.
   * @throws {SystemError} EINVAL for an invalid address, a port out of range, a path that is too long or an unknown
   * zone; EAFNOSUPPORT for an IPv6 address on an IPv4 socket.
   */
  encode(address: SocketAddress, family: number = familyOf(address)): number {
    if ('path' in address) return this.#encodePath(address.path);
    return putIpAddress(this.#out.bytes, 0, address, family, this.zoneIndex);
  }

  /** Prepares the space for a call that returns an address. */
  prepare(): void {
    this.#in.bytes.writeUInt32LE(SOCKADDR_LENGTH, LENGTH_AT);
  }

  /** Returns the address that the last call returned. */
  decode(): SocketAddress | undefined {
    const { bytes } = this.#in;
    const length = bytes.readUInt32LE(LENGTH_AT);
    if (length >= 2 && bytes.readUInt16LE(0) === AF_UNIX) {
      const path = bytes.toString('utf8', 2, Math.min(length, SOCKADDR_LENGTH));
      const end = path.indexOf('\0', 1);
      return { path: end < 0 ? path : path.slice(0, end) };
    }
    return getIpAddress(bytes, 0, this.zoneName);
  }

  /** Returns the local address of a socket, with the port that the kernel chose. */
  localOf(fd: number): SocketAddress | undefined {
    this.prepare();
    if (this.#calls.getsockname(fd, this.resultAt, this.resultLengthAt) !== 0) return undefined;
    return this.decode();
  }

  /** Returns the local address of an IP socket as numbers. */
  localEndpointOf(fd: number): IpEndpoint | undefined {
    this.prepare();
    if (this.#calls.getsockname(fd, this.resultAt, this.resultLengthAt) !== 0) return undefined;
    const endpoint = blankEndpoint();
    return getEndpoint(this.#in.words, 0, endpoint) ? endpoint : undefined;
  }

  /** Returns the peer of a connected socket. */
  peerOf(fd: number): SocketAddress | undefined {
    this.prepare();
    if (this.#calls.getpeername(fd, this.resultAt, this.resultLengthAt) !== 0) return undefined;
    return this.decode();
  }

  /** The scope id of a zone, which is the number or name of an interface; 0 if unknown. */
  readonly zoneIndex = (zone: string): number => {
    const number = Number(zone);
    return Number.isInteger(number) && number > 0 && number <= 0xffff_ffff
      ? number
      : this.#calls.ifNameToIndex(zone);
  };

  /** The zone of a scope id: the interface's name, as in Node. */
  readonly zoneName = (index: number): string => {
    if (this.#calls.ifIndexToName(index, this.#name.at) === 0) return String(index);
    return this.#name.bytes.toString('latin1', 0, this.#name.bytes.indexOf(0));
  };

  #encodePath(path: string): number {
    const length = Buffer.byteLength(path);
    if (length > MAX_PATH || length === 0) throw new SystemError('bind', EINVAL, { address: path });
    const { bytes } = this.#out;
    bytes.fill(0);
    bytes.writeUInt16LE(AF_UNIX, 0);
    bytes.write(path, 2);
    // An abstract name ends with its last byte, a path with a NUL.
    return 2 + length + (path.startsWith('\0') ? 0 : 1);
  }
}

const LENGTH_AT = 112;

/** Returns the address family of a socket for an address; AF_INET for an IPv4 address, otherwise AF_INET6. */
export function familyOf(address: SocketAddress): number {
  if ('path' in address) return AF_UNIX;
  return ipVersion(address.host) === 4 ? AF_INET : AF_INET6;
}

/**
 * Writes a `sockaddr_in` or `sockaddr_in6` for a socket of `family`.
 * @returns the length of the structure in bytes.
 * @throws {SystemError} as `SocketAddresses.encode` does.
 */
export function putIpAddress(
  out: Buffer,
  at: number,
  { host, port }: IpAddress,
  family: number,
  zoneIndex: (zone: string) => number,
): number {
  const version = ipVersion(host);
  const target = { address: host, port };
  if (version === 0 || !Number.isInteger(port) || port < 0 || port > 0xffff) {
    throw new SystemError('connect', EINVAL, target);
  }
  out.writeUInt16LE(family, at);
  out.writeUInt16BE(port, at + 2);
  out.writeUInt32LE(0, at + 4);
  if (family === AF_INET) {
    if (version !== 4) throw new SystemError('connect', EAFNOSUPPORT, target);
    putIPv4(host, out, at + 4);
    out.fill(0, at + 8, at + IN_LENGTH);
    return IN_LENGTH;
  }
  let scope = 0;
  if (version === 4) putMappedIPv4(host, out, at + 8);
  else {
    const { address, zone } = splitZone(host);
    putIPv6(address, out, at + 8);
    if (zone !== '') {
      scope = zoneIndex(zone);
      if (scope === 0) throw new SystemError('connect', EINVAL, target);
    }
  }
  out.writeUInt32LE(scope, at + 24);
  return IN6_LENGTH;
}

/** Reads a `sockaddr_in` or `sockaddr_in6`; IPv4-mapped addresses become IPv4 ones. */
export function getIpAddress(
  bytes: Buffer,
  at: number,
  zoneName: (index: number) => string,
): IpAddress | undefined {
  const family = bytes.readUInt16LE(at);
  if (family === AF_INET)
    return { host: formatIPv4(bytes, at + 4), port: bytes.readUInt16BE(at + 2) };
  if (family !== AF_INET6) return undefined;
  const port = bytes.readUInt16BE(at + 2);
  if (isMappedIPv4(bytes, at + 8)) return { host: formatIPv4(bytes, at + 20), port };
  const host = formatIPv6(bytes, at + 8);
  const scope = bytes.readUInt32LE(at + 24);
  return { host: scope === 0 ? host : `${host}%${zoneName(scope)}`, port };
}

/**
 * Writes a `sockaddr_in` or `sockaddr_in6` from numbers, for a socket of `family`.
 * @param at the index of its first word.
 * @returns its length in bytes.
 */
export function putEndpoint(
  words: Uint32Array,
  at: number,
  { a, b, c, d, port, scope }: IpEndpoint,
  family: number,
): number {
  words[at] = family | (swapPort(port) << 16);
  if (family === AF_INET) {
    words[at + 1] = swapBytes(d);
    words[at + 2] = 0;
    words[at + 3] = 0;
    return IN_LENGTH;
  }
  words[at + 1] = 0; // no flow label
  words[at + 2] = swapBytes(a);
  words[at + 3] = swapBytes(b);
  words[at + 4] = swapBytes(c);
  words[at + 5] = swapBytes(d);
  words[at + 6] = scope;
  return IN6_LENGTH;
}

/** Reads a `sockaddr_in` or `sockaddr_in6` into `out`; returns false for another family. */
export function getEndpoint(words: Uint32Array, at: number, out: MutableIpEndpoint): boolean {
  const head = words[at] as number; // within, as below
  const family = head & 0xffff;
  if (family === AF_INET) {
    out.a = 0;
    out.b = 0;
    out.c = MAPPED;
    out.d = swapBytes(words[at + 1] as number);
    out.scope = 0;
  } else if (family === AF_INET6) {
    out.a = swapBytes(words[at + 2] as number);
    out.b = swapBytes(words[at + 3] as number);
    out.c = swapBytes(words[at + 4] as number);
    out.d = swapBytes(words[at + 5] as number);
    out.scope = words[at + 6] as number;
  } else return false;
  out.port = swapPort(head >>> 16);
  return true;
}

const swapPort = (port: number): number => ((port & 0xff) << 8) | (port >>> 8);
