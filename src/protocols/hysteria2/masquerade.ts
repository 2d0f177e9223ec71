import type { Response } from '../../http3/message.ts';
import type { Clock } from '../../net/clock.ts';
import type { Masquerade } from './settings.ts';

/**
 * The web server that every client without a valid authentication sees: one response to whatever it
 * requests, so that no path, method or credential looks different from another.
 */
export class MasqueradeSite {
  readonly #status: number;
  readonly #contentType: string;
  readonly #body: Buffer;
  readonly #clock: Pick<Clock, 'wall'>;

  constructor({ status, body, contentType }: Masquerade, clock: Pick<Clock, 'wall'>) {
    this.#status = status;
    this.#contentType = contentType;
    this.#body = Buffer.from(body);
    this.#clock = clock;
  }

  /** The response; HTTP/3 leaves the body out where there must be none. */
  respond(): Response {
    const fields = [
      // Octets above ASCII as the file has them: fields are read as latin1.
      { name: 'content-type', value: Buffer.from(this.#contentType).toString('latin1') },
      // A server that has a clock must send it (RFC 9110 §6.6.1), in the format of §5.6.7.
      { name: 'date', value: new Date(this.#clock.wall()).toUTCString() },
    ];
    if (mayHaveLength(this.#status)) {
      fields.push({ name: 'content-length', value: String(this.#body.length) });
    }
    return { status: this.#status, fields, body: this.#body };
  }
}

/** RFC 9110 §8.6: not with 1xx and 204. */
const mayHaveLength = (status: number): boolean => status >= 200 && status !== 204;
