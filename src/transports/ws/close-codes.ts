import { isUtf8 } from 'node:buffer';
import { ProtocolError } from '../../net/errors.ts';

/** Codes of Close frames (RFC 6455 §7.4) and of the errors that they report. */
export const CloseCode = {
  normal: 1000,
  protocolError: 1002,
  invalidPayload: 1007,
  policy: 1008,
} as const;

/** What the registered codes say of the sender; all but 1000 that it gives up. */
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

/** Why the frames of a peer end the connection, and the code of the Close frame that responds to them. */
export class WsFrameError extends ProtocolError {
  readonly closeCode: number;

  constructor(what: string, closeCode: number = CloseCode.protocolError) {
    super(`WebSocket: ${what}`);
    this.closeCode = closeCode;
  }
}

/** The error that a Close frame is to the reader of the stream; `undefined` for one that ends it regularly. */
export function closeError(code: number | undefined): WsFrameError | undefined {
  if (code === undefined || code === CloseCode.normal) return undefined;
  const meaning = MEANINGS[code];
  const text = meaning === undefined ? `code ${code}` : `code ${code}: ${meaning}`;
  return new WsFrameError(`the peer closed with ${text}`, code);
}

/** A Close frame's payload. */
export const closePayload = (code: number): Uint8Array => Uint8Array.of(code >> 8, code & 0xff);

/**
 * The code in the payload of a Close frame, which may have neither code nor reason (§5.5.1).
 * @throws {WsFrameError} when it is invalid.
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
 * Whether a Close frame may have this code: one that is registered and not reserved for use without a
 * frame, or one of the ranges of libraries and applications.
 */
const isCloseCode = (code: number): boolean =>
  (code >= 1000 && code <= 1003) ||
  (code >= 1007 && code <= 1014) ||
  (code >= 3000 && code <= 4999);
