import {
  parseRequestHead,
  HeadMemory,
  MessageError,
  readHead,
  startsRequest,
} from '@weir/http/http1';
import { type Clock, Deadline, unlessAborted } from '@weir/io/time';
import { closeGracefully, type ByteLink } from '@weir/io/links';
import type { InboundCarrierSpec } from '../../spec.ts';
import { UPGRADE_MS } from '../limits.ts';
import { WsLink } from './link.ts';
import {
  HEAD_BYTES,
  HEAD_FIELDS,
  judgeRequest,
  rejection,
  type UpgradeResponse,
} from './upgrade.ts';

/** Limit of requests on one connection; pipelined requests are answered in one turn. */
const MOST_REQUESTS = 100;

type Upgrade = Extract<UpgradeResponse, { status: 101 }>;
type WsSpec = Extract<InboundCarrierSpec, { kind: 'ws' }>;

/** Upgrades HTTP/1.1 connections to WebSockets. Other requests get the responses of a web server without pages. */
export class WsServer {
  readonly #spec: WsSpec;
  readonly #clock: Clock;
  readonly #heads = new HeadMemory();

  constructor(spec: WsSpec, clock: Clock) {
    this.#spec = spec;
    this.#clock = clock;
  }

  /**
   * Reads the requests of a connection, with or without TLS, and responds, until a request is upgraded. Never rejects.
   *
   * @param onFailed called with the reason why a connection failed before its upgrade; not called for refused requests.
   * @returns `undefined` for a connection that is not upgraded in time; it is being closed.
   */
  async upgrade(
    lower: ByteLink,
    onFailed: (error: unknown) => void = () => undefined,
  ): Promise<ByteLink | undefined> {
    using deadline = new Deadline(this.#clock, UPGRADE_MS, 'the WebSocket upgrade');
    for (let left = MOST_REQUESTS - 1; ; left--) {
      const verdict = await this.#verdict(lower, deadline.signal, onFailed);
      if (!verdict) {
        lower.destroy();
        return undefined;
      }
      const { response } = verdict;
      if (verdict.status === 101) return this.#accept(lower, verdict);
      if (!verdict.keepsOpen || left === 0) {
        void closeGracefully(lower, this.#clock, { response });
        return undefined;
      }
      try {
        // Stops reading from a client that does not read its responses.
        const full = lower.write(response);
        if (full) await unlessAborted(full, deadline.signal);
      } catch (error) {
        onFailed(error);
        lower.destroy();
        return undefined;
      }
    }
  }

  #accept(lower: ByteLink, { response, early, isWeir }: Upgrade): ByteLink {
    // A failed link reports its error to the reader.
    lower.write(response)?.catch(() => undefined);
    const link = new WsLink(lower, { clock: this.#clock, isWeir });
    if (early) link.unread(early);
    return link;
  }

  /** Reads one request and returns the response; `undefined` if no request arrives. */
  async #verdict(
    lower: ByteLink,
    signal: AbortSignal,
    onFailed: (error: unknown) => void,
  ): Promise<UpgradeResponse | undefined> {
    try {
      const head = await readHead(lower, startsRequest, signal, HEAD_BYTES, this.#heads);
      if (!head) return undefined;
      return judgeRequest(
        parseRequestHead(head.bytes, HEAD_FIELDS),
        this.#spec,
        this.#clock.wall(),
      );
    } catch (error) {
      if (!(error instanceof MessageError)) {
        onFailed(error);
        return undefined;
      }
      return rejection(error.status === 431 ? 431 : 400);
    }
  }
}
