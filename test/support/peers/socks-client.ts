import { isIP, type Socket } from 'node:net';
import { open, type Address } from '../data/address.ts';
import { readExactly } from '../read.ts';

/**
 * A SOCKS client of raw bytes, written from RFC 1928, RFC 1929 and the SOCKS4 and 4a memos, and
 * kept apart from the program's own codec so that both cannot share a mistake.
 */
export type SocksVersion = '4' | '4a' | '5';

export interface SocksOptions {
  readonly version?: SocksVersion;
  /** RFC 1929 for version 5; the user id for 4 and 4a. */
  readonly user?: string;
  readonly pass?: string;
  /** Where the connection to the proxy comes from. */
  readonly localAddress?: string;
}

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** The proxy refused; `reply` is its reply code (SOCKS5) or result code (SOCKS4). */
export class SocksRefused extends Error {
  readonly reply: number;

  constructor(reply: number) {
    super(`SOCKS reply 0x${reply.toString(16).padStart(2, '0')}`);
    this.reply = reply;
  }
}

export const COMMAND = { connect: 1, bind: 2, associate: 3 } as const;

/** A socket to `target` through `proxy`, with the handshake done. */
export async function socksConnect(
  proxy: Address,
  target: Target,
  options: SocksOptions = {},
): Promise<Socket> {
  const { localAddress } = options;
  const socket = await open(proxy, localAddress === undefined ? {} : { localAddress });
  try {
    if ((options.version ?? '5') === '5') {
      await greet5(socket, options);
      await request5(socket, COMMAND.connect, target);
    } else {
      await request4(socket, target, options);
    }
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** A connection with its first bytes sent along with the handshake, before any reply of the proxy. */
export async function socksConnectSaying(
  first: string,
  proxy: Address,
  target: Target,
): Promise<Socket> {
  const socket = await open(proxy);
  const request = Buffer.concat([Buffer.from([5, COMMAND.connect, 0]), encodeAddress(target)]);
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), request, Buffer.from(first)]));
  const [, method] = await readExactly(socket, 2);
  if (method !== 0) throw new SocksRefused(method ?? 0xff);
  await readReply(socket);
  return socket;
}

/** The result code of a connect: 0 (5) or 90 (4, 4a) for success. */
export async function socksReply(
  proxy: Address,
  target: Target,
  options: SocksOptions = {},
): Promise<number> {
  try {
    const socket = await socksConnect(proxy, target, options);
    socket.destroy();
    return (options.version ?? '5') === '5' ? 0 : 90;
  } catch (error) {
    if (error instanceof SocksRefused) return error.reply;
    throw error;
  }
}

/** Method negotiation and, with a user, RFC 1929. */
export async function greet5(socket: Socket, options: SocksOptions = {}): Promise<void> {
  const { user, pass = '' } = options;
  const method = user === undefined ? 0x00 : 0x02;
  socket.write(Buffer.from([5, 1, method]));
  const [version, chosen] = await readExactly(socket, 2);
  if (version !== 5) throw new Error(`a SOCKS version ${version} reply`);
  if (chosen !== method) throw new SocksRefused(chosen ?? 0xff);
  if (user === undefined) return;
  socket.write(Buffer.concat([Buffer.from([1]), counted(user), counted(pass)]));
  const [, status] = await readExactly(socket, 2);
  if (status !== 0) throw new SocksRefused(status ?? 0xff);
}

/** Sends a SOCKS5 request and returns the bound address of its reply. */
export async function request5(socket: Socket, command: number, target: Target): Promise<Target> {
  socket.write(Buffer.concat([Buffer.from([5, command, 0]), encodeAddress(target)]));
  return readReply(socket);
}

async function readReply(socket: Socket): Promise<Target> {
  const head = await readExactly(socket, 4);
  const [version, reply, , kind] = head;
  if (version !== 5) throw new Error(`a SOCKS version ${version} reply`);
  const bound = await readAddress(socket, kind ?? 0);
  if (reply !== 0) throw new SocksRefused(reply ?? 0xff);
  return bound;
}

async function request4(socket: Socket, target: Target, options: SocksOptions): Promise<void> {
  const named = isIP(target.host) !== 4;
  if (named && options.version === '4') throw new Error('SOCKS4 carries IPv4 addresses only');
  const head = Buffer.from([4, COMMAND.connect, target.port >> 8, target.port & 0xff]);
  // An address 0.0.0.x with x not zero announces a name after the user id (SOCKS4a).
  const address = named ? Buffer.from([0, 0, 0, 1]) : ipv4(target.host);
  const user = Buffer.from(`${options.user ?? ''}\0`);
  socket.write(Buffer.concat([head, address, user, Buffer.from(named ? `${target.host}\0` : '')]));
  const [zero, result] = await readExactly(socket, 8);
  if (zero !== 0) throw new Error(`a SOCKS4 reply that starts with ${zero}`);
  if (result !== 90) throw new SocksRefused(result ?? 0xff);
}

/** Address type, address and port as SOCKS5 writes them (RFC 1928 §5). */
export function encodeAddress({ host, port }: Target): Buffer {
  const tail = Buffer.from([port >> 8, port & 0xff]);
  switch (isIP(host)) {
    case 4:
      return Buffer.concat([Buffer.from([1]), ipv4(host), tail]);
    case 6:
      return Buffer.concat([Buffer.from([4]), ipv6(host), tail]);
    default:
      return Buffer.concat([Buffer.from([3]), counted(host), tail]);
  }
}

/** Reads what `encodeAddress` writes; also returns the number of bytes read. */
export function decodeAddress(bytes: Buffer): Target & { readonly length: number } {
  const kind = bytes[0];
  const size = kind === 1 ? 4 : kind === 4 ? 16 : 1 + (bytes[1] ?? 0);
  const address = bytes.subarray(1, 1 + size);
  return {
    host: addressText(kind ?? 0, address),
    port: bytes.readUInt16BE(1 + size),
    length: 3 + size,
  };
}

async function readAddress(socket: Socket, kind: number): Promise<Target> {
  const name = kind === 3 ? await readExactly(socket, 1) : Buffer.alloc(0);
  const size = kind === 1 ? 4 : kind === 4 ? 16 : (name[0] ?? 0);
  const address = Buffer.concat([name, await readExactly(socket, size)]);
  return { host: addressText(kind, address), port: (await readExactly(socket, 2)).readUInt16BE() };
}

function addressText(kind: number, address: Buffer): string {
  if (kind === 3) return address.subarray(1).toString('latin1');
  if (kind === 1) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, i) => address.readUInt16BE(i * 2).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

function counted(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function ipv4(host: string): Buffer {
  return Buffer.from(host.split('.').map(Number));
}

/** By way of the URL parser, which writes the eight groups in canonical short form. */
function ipv6(host: string): Buffer {
  const mapped = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(new URL(`http://[${host}]`).hostname);
  if (mapped) throw new Error('the URL parser is expected to write hexadecimal groups');
  const short = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [left = '', right] = short.split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right === undefined || right === '' ? [] : right.split(':');
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}
