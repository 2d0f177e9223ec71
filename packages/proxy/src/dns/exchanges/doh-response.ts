import { ProtocolError } from '@weir/io';
import { MAX_MESSAGE_SIZE } from '../message.ts';
import type { KeepableConnection } from './kept-connection.ts';

export const DNS_MESSAGE = 'application/dns-message';

/** The resource to which questions are posted. */
export interface DohTarget {
  /** The host, sent as `Host` or `:authority`. */
  readonly host: string;
  readonly path: string;
}

/** A response whose body is a DNS message. */
export interface DohReply {
  readonly body: Buffer;
  /** Seconds that the message has spent in HTTP caches (RFC 8484 §5.1). */
  readonly age: number;
}

/** A connection, or several, to a DNS server over one version of HTTP. */
export interface DohConnection extends KeepableConnection {
  /**
   * Posts one DNS message.
   *
   * @throws {ConnectionLostError} when the connection failed before the whole response.
   * @throws {ProtocolError} when the response is not a DNS message.
   * @throws {DialError} when `signal` aborted.
   */
  post(message: Buffer, signal: AbortSignal): Promise<DohReply>;
}

/** Initial size of the buffer of a body: most are far shorter than the longest message. */
const FIRST_BYTES = 1024;

/** The response to one question as it arrives, in its own memory. */
export class DohResponse {
  readonly #age: number;
  #body = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;

  /**
   * @param type the Content-Type field.
   * @param age the Age field.
   * @throws {ProtocolError} when the response does not carry a DNS message.
   */
  constructor(status: number, type: string | undefined, age: string | undefined) {
    if (status !== 200) throw new ProtocolError(`responded with HTTP status ${status}`);
    const [media = ''] = (type ?? '').split(';');
    if (media.trim().toLowerCase() !== DNS_MESSAGE) {
      throw new ProtocolError(`responded with ${media || 'no content type'}, not a DNS message`);
    }
    this.#age = /^\d{1,9}$/.test(age ?? '') ? Number(age) : 0;
  }

  /** Copies a piece of the body. @throws {ProtocolError} when the body is too long. */
  push(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > MAX_MESSAGE_SIZE) {
      throw new ProtocolError('the response is longer than a DNS message can be');
    }
    if (length > this.#body.length) {
      const larger = Buffer.allocUnsafe(Math.min(MAX_MESSAGE_SIZE, 2 * length));
      this.#body.copy(larger, 0, 0, this.#length);
      this.#body = larger;
    }
    this.#body.set(piece, this.#length);
    this.#length = length;
  }

  /** The complete response, once its body has ended. */
  get reply(): DohReply {
    return { body: this.#body.subarray(0, this.#length), age: this.#age };
  }
}
