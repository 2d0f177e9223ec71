import { isUtf8 } from 'node:buffer';
import { ProtocolError } from '@weir/io';

/** Codes of Close frames (RFC 6455 §7.4), also used for the errors that they report. */
export const CloseCode = {
  normal: 1000,
  protocolError: 1002,
  invalidPayload: 1007,
  policy: 1008,
} as const;

/** Meanings of the registered codes; all codes but 1000 mean that the sender has failed. */
const MEANINGS: Readonly<Record<number, string>> = {
  1001: 'it goes away',
  1002: 'a protocol error',
  1003: 'data of a type that it does not accept',
  1007: 'invalid data',
  1008: 'a violation of its policy',
  1009: 'a message that is too large',
  1010: 'an extension is missing',
  1011: 'an internal error',
  1012: 'it restarts',
  1013: 'it is overloaded',
  1014: 'an invalid response of a server behind it',
};

/** A protocol violation that ends the connection, with the code of the Close frame to send. */
export class WsFrameError extends ProtocolError {
  readonly closeCode: number;

  constructor(what: string, closeCode: number = CloseCode.protocolError) {
    super(`WebSocket: ${what}`);
    this.closeCode = closeCode;
  }
}

/** Returns the error that a Close frame causes for the reader of the stream; `undefined` for a normal closure. */
export function closeError(code: number | undefined): WsFrameError | undefined {
  if (code === undefined || code === CloseCode.normal) return undefined;
  const meaning = MEANINGS[code];
  const text = meaning === undefined ? `code ${code}` : `code ${code}: ${meaning}`;
  return new WsFrameError(`the peer closed with ${text}`, code);
}

/** Returns the payload of a Close frame. */
export const closePayload = (code: number): Uint8Array => Uint8Array.of(code >> 8, code & 0xff);

/**
 * Returns the code in the payload of a Close frame, which may have neither code nor reason (§5.5.1).
 * @throws {WsFrameError} for an invalid payload.
 */
export function closeCode(payload: Buffer): number | undefined {
  if (payload.length === 0) return undefined;
  if (payload.length === 1) throw new WsFrameError('a Close frame has half a code');
  const code = payload.readUInt16BE(0);
  if (!isCloseCode(code)) throw new WsFrameError(`a Close frame has the invalid code ${code}`);
  if (isUtf8(payload.subarray(2))) return code;
  throw new WsFrameError('the reason of a Close frame is not UTF-8', CloseCode.invalidPayload);
}

/**
 * Whether a Close frame may have this code: a registered code that is not reserved for local use, or one of the ranges
 * for libraries and applications.
 */
const isCloseCode = (code: number): boolean =>
  (code >= 1000 && code <= 1003) ||
  (code >= 1007 && code <= 1014) ||
  (code >= 3000 && code <= 4999);
