import type { Http3Response } from '../../../http/http3/message.ts';
import type { Clock } from '../../../net/time/clock.ts';
import type { Masquerade } from '../settings.ts';

/**
 * The web server that every client without a valid authentication sees: one response to whatever it
 * requests, so that no path, method or credential looks different from another.
 */
export class MasqueradeSite {
  readonly #status: number;
  readonly #interim: number | undefined;
  readonly #contentType: string;
  readonly #body: Buffer;
  readonly #clock: Pick<Clock, 'wall'>;

  constructor({ status, body, contentType }: Masquerade, clock: Pick<Clock, 'wall'>) {
    // A status below 200 is that of an interim response, which a final one has to follow (RFC 9114 §4.1):
    // 200, as from the reference. 101 does not exist in HTTP/3 (§4.5), and clients close the connection.
    const isInterim = status < 200;
    this.#status = isInterim ? 200 : status;
    this.#interim = isInterim && status !== 101 ? status : undefined;
    this.#contentType = contentType;
    this.#body = Buffer.from(body);
    this.#clock = clock;
  }

  /** The response; HTTP/3 leaves the body out where there must be none. */
  respond(): Http3Response {
    const fields = [
      // Octets above ASCII as the file has them: fields are read as latin1.
      { name: 'content-type', value: Buffer.from(this.#contentType).toString('latin1') },
      // A server that has a clock must send it (RFC 9110 §6.6.1), in the format of §5.6.7.
      { name: 'date', value: new Date(this.#clock.wall()).toUTCString() },
    ];
    if (mayHaveLength(this.#status)) {
      fields.push({ name: 'content-length', value: String(this.#body.length) });
    }
    return { status: this.#status, interim: this.#interim, fields, body: this.#body };
  }
}

/** RFC 9110 §8.6: not with 204. */
const mayHaveLength = (status: number): boolean => status !== 204;
