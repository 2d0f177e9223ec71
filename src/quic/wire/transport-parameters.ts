import type { QuicError } from '../errors.ts';

/** The server's address for clients to move to (RFC 9000 §18.2). */
export interface PreferredAddress {
  /** 4 bytes and a port; all zero for none. */
  readonly ipv4: Uint8Array;
  readonly ipv4Port: number;
  /** 16 bytes and a port; all zero for none. */
  readonly ipv6: Uint8Array;
  readonly ipv6Port: number;
  readonly connectionId: Uint8Array;
  readonly resetToken: Uint8Array;
}

/**
 * Transport parameters (RFC 9000 §18.2, RFC 9221 §3), with the defaults of those that were absent.
 * Limits above 2^53 - 1 are read as 2^53 - 1.
 */
export interface TransportParameters {
  /** Servers only. */
  readonly originalDestinationConnectionId: Uint8Array | undefined;
  /** Milliseconds; 0 for no limit. */
  readonly maxIdleTimeout: number;
  /** Servers only; 16 bytes. */
  readonly statelessResetToken: Uint8Array | undefined;
  /** Bytes; at least 1,200. */
  readonly maxUdpPayloadSize: number;
  readonly initialMaxData: number;
  /** For streams that the sender of the parameters opens. */
  readonly initialMaxStreamDataBidiLocal: number;
  /** For streams that the receiver of the parameters opens. */
  readonly initialMaxStreamDataBidiRemote: number;
  readonly initialMaxStreamDataUni: number;
  readonly initialMaxStreamsBidi: number;
  readonly initialMaxStreamsUni: number;
  /** 0 to 20. */
  readonly ackDelayExponent: number;
  /** Milliseconds, below 2^14. */
  readonly maxAckDelay: number;
  readonly disableActiveMigration: boolean;
  /** Servers only. */
  readonly preferredAddress: PreferredAddress | undefined;
  /** At least 2. */
  readonly activeConnectionIdLimit: number;
  /** Required of both; absent in `DEFAULT_TRANSPORT_PARAMETERS` alone. */
  readonly initialSourceConnectionId: Uint8Array | undefined;
  /** Servers only, after a Retry. */
  readonly retrySourceConnectionId: Uint8Array | undefined;
  /** Bytes of the largest DATAGRAM frame with its type and length; 0 for none. */
  readonly maxDatagramFrameSize: number;
}

/** What holds for parameters that are absent. */
export declare const DEFAULT_TRANSPORT_PARAMETERS: TransportParameters;

/** Encodes what differs from the defaults. */
export declare function encodeTransportParameters(
  parameters: Partial<TransportParameters>,
): Uint8Array;

/**
 * Reads and checks the parameters of a peer; unknown ones are ignored. Byte ranges are copied. Whether
 * the connection ids are those of the handshake (§7.3) is the connection's to check; that the required
 * ones are present is checked here.
 *
 * @param sender the side that sent them.
 * @returns a TRANSPORT_PARAMETER_ERROR for anything invalid.
 */
export declare function decodeTransportParameters(
  bytes: Uint8Array,
  sender: 'client' | 'server',
): TransportParameters | QuicError;
