import { type Clock, HALF_CLOSED_IDLE_MS } from '@weir/io/time';
import { DeadlineError, LinkClosedError } from '@weir/io';
import { UnitCost, UnitShare } from '@weir/io/bounds';
import { IdleTimer, RateLimit } from '@weir/io/pace';
import { LinkWatch, type ByteLink, relay } from '@weir/io/links';
import {
  chunkedEncoder,
  createDecoder,
  plainEncoder,
  type BodyDecoder,
  type BodyEncoder,
  type Framing,
  responseFraming,
  MessageError,
  parseResponseHead,
  type ResponseHead,
  type Version,
  readHead,
  startsResponse,
  type HeadMemory,
} from '@weir/http/http1';
import {
  clientHead,
  mayTrail,
  originHead,
  persists,
  type OriginRequest,
} from './forwarded-heads.ts';
import { INTERIM_BURST, INTERIM_RATE } from '../limits.ts';
import { RESPONSE_HEAD_LIMIT } from '@weir/http/fields';
import { SideError, SourceWatch, transferBody, type ExchangeSide } from './transfer-body.ts';

/** The client has received the response. */
interface Responded {
  readonly kind: 'responded';
  readonly keepClient: boolean;
  readonly keepOrigin: boolean;
}

/** The result of an exchange after which the client's connection is still usable. */
export type ExchangeOutcome =
  | Responded
  /** Both links became a tunnel, which has ended. */
  | { readonly kind: 'upgraded' }
  /** No part of a response was sent to the client. */
  | {
      readonly kind: 'failed';
      readonly error: Error;
      /** The status of the response to send. */
      readonly status: number;
      /** Whether the origin closed before the first byte of its response, as may happen on an idle connection. */
      readonly stale: boolean;
      /** Whether the whole request was read, so that the next one can be read. */
      readonly drained: boolean;
    };

const UNCOUNTED = { addUp: () => undefined, addDown: () => undefined };

/**
 * Forwards one request to an origin and the response to the client. Both directions run at once: an
 * origin may respond before it has received the whole request, and a body may wait for `100
 * Continue`.
 */
export class ForwardedExchange {
  readonly #client: ByteLink;
  readonly #origin: ByteLink;
  readonly #request: OriginRequest;
  readonly #clock: Clock;
  readonly #heads: HeadMemory;
  readonly #upload: BodyDecoder;
  readonly #idle: IdleTimer;
  readonly #stop = new AbortController();
  #watch: LinkWatch | undefined;
  /** Whether the whole request was sent to the origin. */
  #sent = false;
  /** Whether the final response is complete or has failed. */
  #over = false;
  /** Whether bytes of the final response were sent to the client. */
  #responded = false;
  /** Whether the origin has sent at least one byte. */
  #originResponded = false;
  #clientError: Error | undefined;

  /** @param heads the memory that the unfinished heads of all origins share. */
  constructor(
    client: ByteLink,
    origin: ByteLink,
    request: OriginRequest,
    clock: Clock,
    heads: HeadMemory,
  ) {
    this.#client = client;
    this.#origin = origin;
    this.#request = request;
    this.#clock = clock;
    this.#heads = heads;
    this.#upload = createDecoder(request.framing);
    this.#idle = new IdleTimer(clock, HALF_CLOSED_IDLE_MS, () => {
      const cause = new DeadlineError(IDLE);
      origin.destroy(cause);
      this.#stop.abort(cause);
    });
  }

  /**
   * Runs the exchange to its end. The origin's link stays open only when it can be reused.
   *
   * @throws {SideError} when the client's connection failed or a response to it was truncated; the
   *   link is destroyed then.
   */
  async run(): Promise<ExchangeOutcome> {
    const sending = this.#send();
    try {
      const outcome = await this.#receive(sending);
      return outcome.kind === 'responded' ? await this.#settle(outcome, sending) : outcome;
    } catch (error) {
      const { side, cause } = error instanceof SideError ? error : new SideError('origin', error);
      this.#origin.destroy(cause);
      await this.#stopSending(sending);
      return this.#fail(side, cause);
    } finally {
      this.#idle.stop();
    }
  }

  /** Sends the client's request, then watches the client until the response is complete. */
  async #send(): Promise<void> {
    try {
      await transferBody({
        from: { link: this.#client, side: 'client' },
        to: { link: this.#origin, side: 'origin' },
        decoder: this.#upload,
        encoder: encoderFor(this.#request.framing),
        head: originHead(this.#request),
        ready: false,
        touch: this.#idle.touch,
        signal: this.#stop.signal,
      });
      this.#sent = true;
    } catch (error) {
      // An origin that has stopped reading may still respond.
      if (error instanceof SideError && error.side === 'client') this.#clientFailed(error.cause);
      return;
    }
    if (this.#over) return;
    this.#watch = new LinkWatch(this.#client);
    const result = await this.#watch.result;
    // Simple clients half-close before they read the response.
    if (result.kind === 'end') this.#idle.start();
    else if (result.kind === 'failure') this.#clientFailed(result.error);
  }

  #clientFailed(error: Error): void {
    if (this.#stop.signal.aborted) return;
    this.#clientError = error;
    this.#origin.resetAfterData(error);
  }

  async #stopSending(sending: Promise<void>): Promise<void> {
    this.#over = true;
    this.#stop.abort(new LinkClosedError('the exchange is over'));
    await this.#watch?.stop();
    await sending;
  }

  /** Forwards interim responses of the origin, then the final one with its body. */
  async #receive(sending: Promise<void>): Promise<ExchangeOutcome> {
    let interim: InterimResponses | undefined;
    for (;;) {
      const { head, followed } = await this.#readResponse();
      if (head.status === 101) return this.#upgrade(head, sending);
      if (head.status >= 200) return this.#respond(head, followed);
      const turn = (interim ??= new InterimResponses(this.#clock)).next();
      if (turn) await turn;
      // RFC 9110 §15.2: interim responses are not sent to an HTTP/1.0 client.
      if (this.#request.head.version === '1.1') await this.#passOn(head);
    }
  }

  async #readResponse(): Promise<{ head: ResponseHead; followed: boolean }> {
    const first = await this.#origin.read();
    if (first === undefined) throw new MessageError(502, 'the origin closed without a response');
    this.#originResponded = true;
    this.#idle.touch();
    this.#origin.unread(first);
    const read = await readHead(
      this.#origin,
      startsResponse,
      undefined,
      RESPONSE_HEAD_LIMIT,
      this.#heads,
    );
    if (!read) throw new MessageError(502, 'the origin closed without a response');
    return { head: parseResponseHead(read.bytes), followed: read.followed };
  }

  /** Sends the client a head that has no body. */
  async #passOn(head: ResponseHead): Promise<void> {
    try {
      const bytes = clientHead({ head, framing: { kind: 'none' }, keep: true });
      const full = this.#client.write(bytes);
      if (!full) return;
      await SourceWatch.of({ link: this.#origin, side: 'origin' }).unlessFailed(full);
    } catch (error) {
      throw error instanceof SideError ? error : new SideError('client', error);
    }
  }

  async #respond(head: ResponseHead, followed: boolean): Promise<Responded> {
    const { head: request, keep } = this.#request;
    const { body, certain } = responseFraming(head, request.method);
    const framing = framingFor(request.version, body);
    // After an early response the client may omit the rest of the request, so the start of the next
    // request cannot be found.
    const keepClient = keep && this.#upload.done;
    await transferBody({
      from: { link: this.#origin, side: 'origin' },
      to: { link: this.#client, side: 'client' },
      decoder: createDecoder(body),
      encoder: encoderFor(framing),
      head: clientHead({ head, framing, keep: keepClient }),
      ready: followed,
      onSend: () => (this.#responded = true),
      touch: this.#idle.touch,
    });
    return { kind: 'responded', keepClient, keepOrigin: keep && certain && persists(head) };
  }

  /** After the response, sends the rest of the request to an origin that still reads it. */
  async #settle(outcome: Responded, sending: Promise<void>): Promise<ExchangeOutcome> {
    this.#over = true;
    if (!this.#sent) {
      this.#idle.start();
      await sending;
    }
    await this.#stopSending(sending);
    return { ...outcome, keepOrigin: outcome.keepOrigin && this.#sent };
  }

  async #upgrade(head: ResponseHead, sending: Promise<void>): Promise<ExchangeOutcome> {
    if (this.#request.upgrade === undefined) {
      throw new MessageError(502, 'the origin switched protocols without a request for it');
    }
    this.#responded = true;
    await this.#passOn(head);
    this.#over = true;
    // The tunnel begins after the body of the request.
    if (!this.#sent) await sending;
    if (!this.#sent) throw new MessageError(502, 'the request was truncated before the switch');
    await this.#stopSending(sending);
    await relay(this.#client, this.#origin, UNCOUNTED, this.#clock);
    return { kind: 'upgraded' };
  }

  /**
   * Determines the response to a failure, or destroys the client's link when a response has begun.
   */
  #fail(side: ExchangeSide, cause: Error): ExchangeOutcome {
    const error = this.#clientError ?? cause;
    const failedSide = this.#clientError ? 'client' : side;
    if (this.#responded || (failedSide === 'client' && !(error instanceof MessageError))) {
      // A LinkClosedError means that the flow was closed on purpose, which takes effect at once.
      if (error instanceof LinkClosedError) this.#client.destroy(error);
      else this.#client.resetAfterData(error);
      throw new SideError(failedSide, error);
    }
    if (failedSide === 'client') {
      return { kind: 'failed', error, status: 400, stale: false, drained: false };
    }
    return {
      kind: 'failed',
      error,
      status: error instanceof DeadlineError ? 504 : 502,
      // A LinkClosedError means that the flow was closed on purpose: it must not be opened again.
      stale: !this.#originResponded && !(error instanceof LinkClosedError),
      drained: this.#upload.done,
    };
  }
}

/** Bounds the interim responses to one request, of which a single read may hold thousands. */
class InterimResponses {
  readonly #clock: Clock;
  readonly #rate = new RateLimit(INTERIM_RATE, INTERIM_BURST);
  readonly #units = new UnitShare();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts an interim response; returns a promise to await before it is passed on, if any.
   * @throws {MessageError} when there are too many.
   */
  next(): Promise<void> | undefined {
    if (this.#rate.take(this.#clock.now())) return this.#units.take(UnitCost.head);
    throw new MessageError(502, 'the origin sends interim responses without end');
  }
}

const IDLE = `no data for ${HALF_CLOSED_IDLE_MS / 1000} s after a half-close`;

const encoderFor = (framing: Framing): BodyEncoder =>
  framing.kind === 'chunked' ? chunkedEncoder(mayTrail) : plainEncoder;

/**
 * Returns the framing of a response to a client: chunks keep the connection usable, but HTTP/1.0 lacks them.
 */
function framingFor(version: Version, body: Framing): Framing {
  if (body.kind !== 'chunked' && body.kind !== 'until-close') return body;
  return { kind: version === '1.1' ? 'chunked' : 'until-close' };
}
