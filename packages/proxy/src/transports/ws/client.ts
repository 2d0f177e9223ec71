import { shownEndpoint, type Endpoint } from '@weir/io/addresses';
import type { RandomSource } from '@weir/base/random';
import { messageOf } from '@weir/base';
import {
  parseStrictResponseHead,
  type ResponseHead,
  readHead,
  startsResponse,
} from '@weir/http/http1';
import { INTERIM_LIMIT } from '@weir/http/fields';
import { type Clock, Deadline } from '@weir/io/time';
import { abortedDial, DialError, ProtocolError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import type { OutboundCarrierSpec } from '../../spec.ts';
import { UPGRADE_MS } from '../limits.ts';
import { EarlyDataLink } from './early-data-link.ts';
import { WsLink } from './link.ts';
import { markedKey, markReply } from './peer-mark.ts';
import { HEAD_BYTES, HEAD_FIELDS, problemWith, upgradeRequest } from './upgrade.ts';

type WsSpec = Extract<OutboundCarrierSpec, { kind: 'ws' }>;

/** A WebSocket client for one server. */
export class WsClient {
  readonly #spec: WsSpec;
  readonly #server: Endpoint;
  readonly #clock: Clock;
  readonly #random: RandomSource;

  constructor(spec: WsSpec, server: Endpoint, clock: Clock, random: RandomSource) {
    this.#spec = spec;
    this.#server = server;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Upgrades a connection, which is destroyed if the upgrade fails. With early data the upgrade waits for the first
   * write, which is rejected if the upgrade fails.
   *
   * @throws {DialError} `upstream` if the server rejects the upgrade.
   */
  async open(lower: ByteLink, signal: AbortSignal): Promise<ByteLink> {
    const { earlyData } = this.#spec;
    if (earlyData === 0) return this.#upgrade(lower, signal, undefined);
    return new EarlyDataLink(
      earlyData,
      (first, opening) => this.#upgrade(lower, opening, first),
      lower,
    );
  }

  async #upgrade(
    lower: ByteLink,
    parent: AbortSignal,
    early: Uint8Array | undefined,
  ): Promise<ByteLink> {
    using deadline = new Deadline(this.#clock, UPGRADE_MS, 'the WebSocket upgrade', parent);
    const { signal } = deadline;
    try {
      if (signal.aborted) throw abortedDial(signal, this.#server);
      const key = markedKey(this.#random);
      // A failed link reports its error to the reader; the server may also respond early.
      lower.write(upgradeRequest(this.#spec, key, early))?.catch(() => undefined);
      const { head, followed } = await response(lower, signal);
      const problem = problemWith(head, key);
      if (problem !== undefined) throw new ProtocolError(problem);
      const [random, clock, weirFrame] = [this.#random, this.#clock, markReply(key)];
      const link = new WsLink(lower, { random, clock, weirFrame });
      // The link may be half-closed before anything is read from it.
      const ahead = followed ? await lower.read(signal) : undefined;
      if (ahead) {
        link.recognize(ahead);
        lower.unread(ahead);
      }
      return link;
    } catch (error) {
      lower.destroy();
      if (signal.aborted) throw abortedDial(signal, this.#server);
      const text = `${shownEndpoint(this.#server)}: WebSocket: ${messageOf(error)}`;
      throw new DialError('upstream', text, { cause: error });
    }
  }
}

/** Reads the final response, skipping interim ones. */
async function response(
  lower: ByteLink,
  signal: AbortSignal,
): Promise<{ readonly head: ResponseHead; readonly followed: boolean }> {
  for (let skipped = 0; skipped <= INTERIM_LIMIT; skipped++) {
    const read = await readHead(lower, startsResponse, signal, HEAD_BYTES);
    if (!read) throw new ProtocolError('the server closed the connection without a response');
    const head = parseStrictResponseHead(read.bytes, HEAD_FIELDS);
    if (head.status >= 200 || head.status === 101) return { head, followed: read.followed };
  }
  throw new ProtocolError('the server responds with nothing but interim responses');
}
