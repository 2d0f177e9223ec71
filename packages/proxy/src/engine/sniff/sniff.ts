import { type Clock, Deadline } from '@weir/io/time';
import { GrowingBytes } from '@weir/base/bytes';
import type { ByteLink } from '@weir/io/links';
import { HttpSniffer } from './http.ts';
import { MORE, NO_NAME, type Sniffed, type Sniffer } from './sniffer.ts';
import { TLS_HANDSHAKE, TlsSniffer } from './tls.ts';

/** Number of first bytes that are examined. */
export const SNIFF_LIMIT = 8192;
/** Milliseconds that a client has to send its first bytes. */
export const SNIFF_TIMEOUT_MS = 300;

const NOTHING = new Uint8Array(0);

export interface SniffOptions {
  readonly clock: Clock;
  /** Ends the wait early: the server has sent first, or the flow has ended. */
  readonly signal?: AbortSignal;
}

/**
 * Reads the first bytes of a client's stream, finds the domain in them, and unreads them.
 *
 * Never rejects: the end or a failure of the link ends sniffing without a name, and the next read reports it
 * again.
 */
export async function sniff(link: ByteLink, options: SniffOptions): Promise<string | undefined> {
  using deadline = new Deadline(options.clock, SNIFF_TIMEOUT_MS, 'sniffing', options.signal);
  return await sniffUntil(link, deadline.signal);
}

/**
 * Finds the domain in the bytes that the link has already received, and unreads them. Returns `MORE` when further bytes
 * could change the result.
 */
export function sniffAhead(link: Pick<ByteLink, 'takeAhead' | 'unread'>): Sniffed {
  const chunk = link.takeAhead?.();
  if (!chunk) return MORE;
  link.unread(chunk);
  const sniffed = sniffDomain(chunk.subarray(0, SNIFF_LIMIT));
  return sniffed.done || chunk.length < SNIFF_LIMIT ? sniffed : NO_NAME;
}

/** Sniffs the domain as `sniff` does, until `signal` aborts. */
export async function sniffUntil(link: ByteLink, signal: AbortSignal): Promise<string | undefined> {
  const sniffer = new DomainSniffer();
  /** The first chunk, which usually suffices, or a copy of all chunks. */
  let head: Uint8Array = NOTHING;
  let copy: GrowingBytes | undefined;
  let last: Uint8Array | undefined;
  /** Number of bytes before `last`. */
  let before = 0;
  try {
    while (head.length < SNIFF_LIMIT) {
      const chunk = await readOrEnd(link, signal);
      if (chunk === undefined) return undefined;
      last = chunk;
      before = head.length;
      const piece = chunk.subarray(0, SNIFF_LIMIT - before);
      if (before === 0) head = piece;
      else {
        if (!copy) (copy = new GrowingBytes()).append(head);
        copy.append(piece);
        head = copy.bytes;
      }
      const sniffed = sniffer.look(head);
      if (sniffed.done) return sniffed.domain;
    }
    return undefined;
  } finally {
    // In two chunks at most, even if the client has sent every byte separately.
    if (last) link.unread(last);
    if (before > 0) link.unread(head.subarray(0, before));
  }
}

async function readOrEnd(link: ByteLink, signal: AbortSignal): Promise<Uint8Array | undefined> {
  try {
    return await link.read(signal);
  } catch {
    // A time limit, an abort or a failure: in each case there is no name.
    return undefined;
  }
}

/**
 * Finds the domain in the first bytes of a client's stream: the server name of a TLS ClientHello or the host
 * of an HTTP/1 request, in lower case.
 *
 * The result depends only on the bytes, not on how they are chunked, and is final when `done`. Bytes that
 * are neither protocol are `done` without a name at once.
 */
export class DomainSniffer implements Sniffer {
  #protocol: Sniffer | undefined;

  look(bytes: Uint8Array): Sniffed {
    if (bytes.length === 0) return MORE;
    this.#protocol ??= bytes[0] === TLS_HANDSHAKE ? new TlsSniffer() : new HttpSniffer();
    return this.#protocol.look(bytes);
  }
}

/** Returns the domain in the first bytes of a stream, given in one piece. */
export const sniffDomain = (bytes: Uint8Array): Sniffed => new DomainSniffer().look(bytes);
