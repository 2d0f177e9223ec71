import { suffixedBlake2b, type SuffixedHash } from '@weir/crypto/hash/blake2b';
import type { RandomSource } from '@weir/base/random';
import type { BindDatagrams } from '@weir/base/ip';
import { WeirError } from '@weir/base';
import { type Endpoint, ipVersion, numericEndpoint } from '@weir/io/addresses';
import type { Clock } from '@weir/io/time';
import type { Defer } from '@weir/io/pace';
import { dialledUdp } from '@weir/io/net/own-listeners';
import { type DialledSocket, systemSockets } from '@weir/io/sockets';
import {
  type ClientTls,
  type ConnectionSettings,
  DEFAULT_SETTINGS,
  type QuicConnection,
  QuicEndpoint,
  type QuicHandlers,
  type ResetTokens,
  type ServerTls,
} from '@weir/quic';
import { IDLE_MS, KEEP_ALIVE_MS, LONGEST_DATAGRAM_FRAME } from './limits.ts';

/** Random bytes before each datagram. */
export const SALT_LENGTH = 8;

/** Words of the key, which is repeated over the datagram. */
const KEY_WORDS = 8;

/**
 * Obfuscation of datagrams (extras/obfs/salamander.go of the reference): the datagram is XORed with the BLAKE2b-256 of
 * password and salt, repeated; the salt precedes the result. The obfuscation hides QUIC from filters, and protects no
 * secret.
 *
 * Implements `PacketObfuscation` of packages/quic/src.
 */
export class Salamander {
  readonly overhead = SALT_LENGTH;
  readonly #random: RandomSource;
  readonly #hash: SuffixedHash;
  /** The digest as words in native byte order, like the words of the datagram. */
  readonly #digest: Int32Array;
  /** The digest, rotated to the offset at which the words of the datagram begin. */
  readonly #key = new Int32Array(KEY_WORDS);
  #memory: ArrayBufferLike | undefined;
  #words: Int32Array = new Int32Array(0);

  constructor(password: string, random: RandomSource, hashes = suffixedBlake2b) {
    this.#random = random;
    this.#hash = hashes(Buffer.from(password), SALT_LENGTH);
    const { buffer, byteOffset } = this.#hash.digest;
    this.#digest = new Int32Array(buffer, byteOffset, KEY_WORDS);
  }

  /** Writes the obfuscated `datagram` into `out` from `at` on, and returns its length. */
  seal(datagram: Uint8Array, out: Uint8Array, at: number): number {
    const { suffix } = this.#hash;
    this.#random.fill(suffix);
    for (let index = 0; index < SALT_LENGTH; index++) out[at + index] = suffix[index] as number; // 8
    const start = at + SALT_LENGTH;
    out.set(datagram, start);
    this.#hash.compute();
    this.#combine(out, start, start + datagram.length);
    return SALT_LENGTH + datagram.length;
  }

  /**
   * Returns the payload, decoded in place in the memory of the argument; `undefined` when nothing follows
   * the salt.
   */
  open(datagram: Uint8Array): Uint8Array | undefined {
    if (datagram.length <= SALT_LENGTH) return undefined;
    const { suffix } = this.#hash;
    for (let index = 0; index < SALT_LENGTH; index++) suffix[index] = datagram[index] as number; // 8
    this.#hash.compute();
    this.#combine(datagram, SALT_LENGTH, datagram.length);
    return datagram.subarray(SALT_LENGTH);
  }

  /** XORs a part of `bytes` with the digest: single bytes up to a word boundary, then words. */
  #combine(bytes: Uint8Array, start: number, end: number): void {
    const { digest } = this.#hash;
    const base = bytes.byteOffset;
    const aligned = Math.min(end, start + (-(base + start) & 3));
    for (let at = start; at < aligned; at++) {
      bytes[at] = (bytes[at] as number) ^ (digest[at - start] as number); // both in range
    }
    const words = this.#wordsOf(bytes);
    const key = this.#turn(aligned - start);
    const first = (base + aligned) >> 2;
    const count = (end - aligned) >> 2;
    for (let index = 0; index < count; index++) {
      const at = first + index;
      words[at] = (words[at] as number) ^ (key[index & (KEY_WORDS - 1)] as number); // both in range
    }
    for (let at = aligned + count * 4; at < end; at++) {
      bytes[at] = (bytes[at] as number) ^ (digest[(at - start) & 31] as number); // both in range
    }
  }

  /** Returns the key from its byte `offset` (0 to 3) on. */
  #turn(offset: number): Int32Array {
    if (offset === 0) return this.#digest;
    // All supported machines are little-endian.
    const low = offset * 8;
    for (let index = 0; index < KEY_WORDS; index++) {
      const word = this.#digest[index] as number; // 8 words
      const next = this.#digest[(index + 1) & (KEY_WORDS - 1)] as number; // 8 words
      this.#key[index] = (word >>> low) | (next << (32 - low));
    }
    return this.#key;
  }

  /** Returns the memory as words; the datagrams of a batch share it. */
  #wordsOf({ buffer }: Uint8Array): Int32Array {
    if (buffer !== this.#memory) {
      this.#memory = buffer;
      this.#words = new Int32Array(buffer, 0, buffer.byteLength >> 2);
    }
    return this.#words;
  }
}

/** Settings of the endpoints of both sides. */
interface EndpointParts {
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The password of Salamander; `undefined` without obfuscation. */
  readonly obfuscation: string | undefined;
}

/** Settings for accepting clients; may be replaced for later clients. */
export interface Reception {
  readonly tls: ServerTls;
  /** Connections beyond which handshakes are refused at once; with 0 no client is accepted. */
  readonly maxConnections: number;
  readonly onConnection: (connection: QuicConnection) => QuicHandlers;
  /** Called when a client got no connection because TLS could not create its state. */
  readonly onFailure: (error: Error) => void;
}

/** The UDP port of a server. */
export interface ServerEndpoint {
  readonly local: Endpoint;
  /** Accepts clients from now on; until then clients get no response. */
  serve(reception: Reception): void;
  /** Closes all connections with a code of HTTP/3, then the port. Idempotent. */
  close(code: number): void;
  /** Resolves, never rejects, when the port is free. */
  readonly closed: Promise<unknown>;
}

/** Binds a UDP port. @throws the system's error. */
export type BindServer = (
  where: Endpoint,
  parts: EndpointParts & { readonly resetTokens: (local: Endpoint) => ResetTokens },
) => Promise<ServerEndpoint>;

/** A connection that is being established, and its own socket. */
export interface DialledQuic {
  readonly connection: QuicConnection;
  readonly socket: DialledSocket;
  /**
   * Closes the connection with a code of HTTP/3, and its socket. CONNECTION_CLOSE was sent before this returns, since
   * the process may be about to exit.
   */
  close(code: number): void;
}

/** A request to dial a server. */
export interface DialRequest extends EndpointParts {
  /** The server's IP address and port. */
  readonly server: Endpoint;
  readonly tls: ClientTls;
  readonly handlers: QuicHandlers;
}

/**
 * Starts a connection from a socket of its own, which is released with it.
 * @throws the system's error.
 */
export type DialServer = (request: DialRequest) => Promise<DialledQuic>;

const CONNECTION: ConnectionSettings = {
  ...DEFAULT_SETTINGS,
  idleTimeout: IDLE_MS,
  maxDatagramFrameSize: LONGEST_DATAGRAM_FRAME,
  // The reference's client omits the transport parameter when it does not imitate a browser.
  acceptUnannouncedDatagrams: true,
};

/** Where endpoints have their sockets. */
interface Means {
  readonly sockets: BindDatagrams;
  /** For tests: schedules turns of the event loop. */
  readonly soon?: Defer;
}

/** Returns the endpoints of both sides on such sockets. */
export function endpointsOn(means: Means): {
  readonly bindServer: BindServer;
  readonly dialServer: DialServer;
} {
  return {
    bindServer: async (where, parts) => {
      const endpoint = await bindEndpoint(where, parts, means);
      return {
        local: endpoint.local,
        closed: endpoint.closed,
        serve: (reception) =>
          endpoint.serve({ ...reception, connection: { ...CONNECTION, authenticates: true } }),
        close: (code) => endpoint.close(code),
      };
    },
    dialServer: async ({ server, tls, handlers, ...parts }) => {
      const remote = numericEndpoint(server.host, server.port);
      if (!remote) throw new NoSuchAddressError(server.host);
      const wildcard = ipVersion(server.host) === 4 ? '0.0.0.0' : '::';
      const endpoint = await bindEndpoint({ host: wildcard, port: 0 }, parts, means);
      try {
        const connection = endpoint.dial(remote, {
          tls,
          handlers,
          connection: { ...CONNECTION, keepAlive: KEEP_ALIVE_MS },
        });
        const close = (code: number): void => endpoint.close(code);
        return { connection, socket: dialledUdp(endpoint), close };
      } finally {
        // The endpoint is released with the connection, or at once without one.
        endpoint.retire();
      }
    },
  };
}

export const { bindServer, dialServer } = endpointsOn({
  sockets: (options, handlers) => systemSockets().bindDatagrams(options, handlers),
});

/** An address with a zone that does not exist on this host. */
class NoSuchAddressError extends WeirError {
  constructor(host: string) {
    super('EADDRNOTAVAIL', `this host has no such address: ${host}`);
  }
}

function bindEndpoint(
  { host, port }: Endpoint,
  {
    obfuscation,
    ...parts
  }: EndpointParts & { readonly resetTokens?: (local: Endpoint) => ResetTokens },
  { sockets, soon }: Means,
): Promise<QuicEndpoint> {
  const local = numericEndpoint(host, port);
  if (!local) return Promise.reject(new NoSuchAddressError(host));
  const { random } = parts;
  return QuicEndpoint.bind(sockets, local, {
    ...parts,
    soon,
    obfuscation: obfuscation === undefined ? undefined : new Salamander(obfuscation, random),
  });
}
