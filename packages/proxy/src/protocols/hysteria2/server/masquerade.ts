import type { Http3Response } from '@weir/http/http3';
import type { Clock } from '@weir/io/time';
import type { Masquerade } from '../settings.ts';

/**
 * The web server that a client sees until it has authenticated: one response to every request, so
 * that no path, method or credential is distinguishable from another.
 */
export class MasqueradeSite {
  readonly #status: number;
  readonly #interim: number | undefined;
  readonly #contentType: string;
  readonly #body: Buffer;
  readonly #clock: Pick<Clock, 'wall'>;

  constructor({ status, body, contentType }: Masquerade, clock: Pick<Clock, 'wall'>) {
    // A status below 200 is that of an interim response, which a final one must follow (RFC 9114
    // §4.1): 200, as in the reference. HTTP/3 has no 101 (§4.5), for which clients would close the
    // connection.
    const isInterim = status < 200;
    this.#status = isInterim ? 200 : status;
    this.#interim = isInterim && status !== 101 ? status : undefined;
    this.#contentType = contentType;
    this.#body = Buffer.from(body);
    this.#clock = clock;
  }

  /** Returns the response to any request; `Http3Server` omits the body if none is allowed. */
  respond(): Http3Response {
    const fields = [
      // UTF-8 octets as in the file: fields are encoded as latin1.
      { name: 'content-type', value: Buffer.from(this.#contentType).toString('latin1') },
      // Required of a server with a clock (RFC 9110 §6.6.1), in the format of §5.6.7.
      { name: 'date', value: new Date(this.#clock.wall()).toUTCString() },
    ];
    if (mayHaveLength(this.#status)) {
      fields.push({ name: 'content-length', value: String(this.#body.length) });
    }
    return { status: this.#status, interim: this.#interim, fields, body: this.#body };
  }
}

/** Whether a status may have a Content-Length: a 204 MUST NOT (RFC 9110 §8.6). */
const mayHaveLength = (status: number): boolean => status !== 204;
