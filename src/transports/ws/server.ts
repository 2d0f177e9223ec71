import { parseRequestHead } from '../../http/http1/head.ts';
import { MessageError } from '../../http/http1/message-error.ts';
import { readHead, startsRequest } from '../../http/http1/read-head.ts';
import type { Clock } from '../../net/time/clock.ts';
import { closeGracefully } from '../../net/links/close-gracefully.ts';
import { Deadline } from '../../net/time/deadline.ts';
import type { ByteLink } from '../../net/links/link.ts';
import type { InboundCarrierSpec } from '../../spec.ts';
import { UPGRADE_MS } from '../limits.ts';
import { WsLink } from './link.ts';
import { HEAD_BYTES, HEAD_FIELDS, judgeRequest, refusal, type UpgradeResponse } from './upgrade.ts';

type WsSpec = Extract<InboundCarrierSpec, { kind: 'ws' }>;

/**
 * Upgrades HTTP/1.1 connections to WebSockets. To other requests it responds like a web server
 * without pages.
 */
export class WsServer {
  readonly #spec: WsSpec;
  readonly #clock: Clock;

  constructor(spec: WsSpec, clock: Clock) {
    this.#spec = spec;
    this.#clock = clock;
  }

  /**
   * Reads the request of a connection, over TLS or not, and responds. Never rejects.
   *
   * @returns `undefined` for a connection that is not upgraded in time; it is being closed.
   */
  async upgrade(lower: ByteLink): Promise<ByteLink | undefined> {
    const verdict = await this.#verdict(lower);
    if (!verdict) {
      lower.destroy();
      return undefined;
    }
    const { response } = verdict;
    if (verdict.status !== 101) {
      void closeGracefully(lower, this.#clock, { response });
      return undefined;
    }
    // A link that has failed reports that to its reader.
    lower.write(response)?.catch(() => undefined);
    const link = new WsLink(lower, undefined, this.#clock);
    if (verdict.early) link.unread(verdict.early);
    return link;
  }

  /** `undefined` when no request arrives. */
  async #verdict(lower: ByteLink): Promise<UpgradeResponse | undefined> {
    using deadline = new Deadline(this.#clock, UPGRADE_MS, 'the WebSocket upgrade');
    try {
      const head = await readHead(lower, startsRequest, deadline.signal, HEAD_BYTES);
      return head && judgeRequest(parseRequestHead(head.bytes, HEAD_FIELDS), this.#spec);
    } catch (error) {
      if (!(error instanceof MessageError)) return undefined;
      return refusal(error.status === 431 ? 431 : 400);
    }
  }
}
