import type { RandomSource } from '../../crypto/random-source.ts';
import type { BoundedReader } from '../../net/bounded-reader.ts';

/** The frame type that begins a stream with a TCP request, in place of HTTP/3's. */
export const TCP_REQUEST = 0x401;

/** A response to a TCP request. */
export interface TcpResponse {
  readonly ok: boolean;
  /** For people: the reason of a failure. */
  readonly message: string;
}

/** A UDP message or a fragment of one. */
export interface UdpMessage {
  /** Of the client's choice, one for each association. 32 bits. */
  readonly sessionId: number;
  /** Joins the fragments of one message. 16 bits; the reference never sends 0. */
  readonly packetId: number;
  readonly fragmentId: number;
  readonly fragmentCount: number;
  /** `host:port`. */
  readonly address: string;
  readonly data: Uint8Array;
}

/**
 * A TCP request: frame type, address (`host:port`) and padding as long as the reference's.
 */
export declare function encodeTcpRequest(address: string, random: RandomSource): Uint8Array;

/**
 * Reads a TCP request behind its frame type, and returns its address.
 * @throws {ProtocolError} for an address or padding beyond the limits.
 */
export declare function readTcpRequest(reader: BoundedReader): Promise<string>;

/** A TCP response. A message longer than the limit is cut. */
export declare function encodeTcpResponse(response: TcpResponse, random: RandomSource): Uint8Array;

/**
 * Reads a TCP response.
 * @throws {ProtocolError} for a message or padding beyond the limits.
 */
export declare function readTcpResponse(reader: BoundedReader): Promise<TcpResponse>;

/** Bytes before the data of a UDP message with an address of that many bytes. */
export declare function udpHeaderSize(addressBytes: number): number;

/** A UDP message, whole or a fragment. */
export declare function encodeUdpMessage(message: UdpMessage): Uint8Array;

/** Reads a UDP message; its data is a view. `undefined` for a malformed one, which is dropped. */
export declare function decodeUdpMessage(bytes: Uint8Array): UdpMessage | undefined;
