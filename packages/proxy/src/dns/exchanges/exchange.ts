import { UnitCost, UnitShare } from '@weir/io/bounds';
import { BoundedReader, type ByteLink } from '@weir/io/links';
import { type Endpoint, formatEndpoint, shownEndpoint } from '@weir/io/addresses';
import { codeOf, messageOf, WeirError } from '@weir/base';
import { DeadlineError, DialError, toDialError } from '@weir/io';
import {
  type DnsReply,
  MAX_MESSAGE_SIZE,
  type Question,
  type RawQuestion,
  rejectsEdns,
} from '../message.ts';

const LENGTH_SIZE = 2;

/** Prepends the length to a message, as in streams (RFC 1035 §4.2.2), in one buffer (RFC 7766 §8). */
export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH_SIZE + message.length);
  framed.writeUInt16BE(message.length, 0);
  framed.set(message, LENGTH_SIZE);
  return framed;
}

/** Reads the messages of a stream one at a time, whatever the chunk boundaries. */
export class FramedMessageReader {
  readonly #reader: BoundedReader;

  constructor(link: ByteLink, signal?: AbortSignal) {
    this.#reader = new BoundedReader(link, MAX_MESSAGE_SIZE, signal);
  }

  /**
   * Reads the next message.
   *
   * @throws {ProtocolError} when the stream ends.
   */
  async next(): Promise<Buffer> {
    const length = (await this.#reader.bytes(LENGTH_SIZE)).readUInt16BE(0);
    return this.#reader.bytes(length);
  }
}

/**
 * The share of a turn for the messages of one server, which are read one after the other: one of 64 KB has room for 4,000
 * records, which take about a microsecond each, and replies to many questions may come at once.
 */
export class ReadingTurns {
  readonly #units = new UnitShare();
  #last: Promise<void> | undefined;

  /** Returns a promise to await before a message is read, if any. */
  take({ length }: Uint8Array): Promise<void> | undefined {
    const cost = UnitCost.datagram + (length >> 3);
    const take = (): Promise<void> | undefined => this.#units.take(cost);
    const turn = this.#last ? this.#last.then(take) : take();
    if (!turn) return undefined;
    const last = turn.then(() => {
      if (this.#last === last) this.#last = undefined;
    });
    this.#last = last;
    return last;
  }
}

/** Exchanges messages with a DNS server, over UDP, TLS or HTTPS. */
export interface DnsExchange {
  /** The server, for messages: `192.0.2.53:853`. */
  readonly server: string;
  /**
   * Asks one question. A reply with any response code is returned.
   *
   * @throws {DialError} `timed_out`, `upstream`, or the reason of `signal`.
   */
  ask(question: Question | RawQuestion, signal: AbortSignal): Promise<DnsReply>;
  /** Closes connections; called while no question is pending. Later questions open them again. */
  close(): void;
}

/**
 * Returns the failure of a dial for that of an exchange. A *DNS server* that refuses or cannot be reached does not
 * concern the destination, so only the codes `timed_out` and `aborted` are kept.
 */
export function serverError(server: Endpoint, error: unknown): DialError {
  const endpoint = formatEndpoint(server);
  const failure = toDialError(error, server);
  const timedOut = failure.code === 'timed_out' || codeOf(error) === 'timed_out';
  const code = timedOut ? 'timed_out' : failure.code === 'aborted' ? 'aborted' : 'upstream';
  const reason = failure.message.replace(`${shownEndpoint(server)}: `, '');
  return new DialError(code, `DNS server ${endpoint}: ${reason}`, { cause: error });
}

/** The error of a connection that ended before the reply: the question may be repeated on another connection. */
export class UnansweredError extends WeirError {
  constructor(cause?: unknown) {
    const code = cause instanceof DeadlineError ? 'timed_out' : 'connection_lost';
    super(code, cause === undefined ? 'the connection was closed' : messageOf(cause), { cause });
  }
}

/** Asks with EDNS, and again without it if the server rejects it (RFC 6891 §7). */
export async function unlessEdnsRejected(
  ask: (edns: boolean) => Promise<DnsReply>,
): Promise<DnsReply> {
  const reply = await ask(true);
  return rejectsEdns(reply) ? ask(false) : reply;
}
