import type { RandomSource } from '@weir/base/random';
import { formatEndpoint, type Endpoint } from '@weir/io/addresses';
import type { Clock } from '@weir/io/time';
import { IdleTimer } from '@weir/io/pace';
import { type Packet, type PacketLink, QueuedPackets } from '@weir/io/links';
import type { QuicConnection } from '@weir/quic';
import { datagramsOf, MessageReassembly } from './fragments.ts';
import { ASSOCIATION_QUEUE } from '../limits.ts';
import { decodeUdpMessage, LastAddress, parseHostPort, type UdpMessage } from '../wire.ts';

/** The part of a connection that UDP sessions use. */
export type DatagramChannel = Pick<QuicConnection, 'sendDatagram' | 'maxDatagramSize'>;

/** Number of session ids, which have 32 bits. */
const IDS = 2 ** 32;

/** One association over the DATAGRAM frames of a connection, on either side. */
export class UdpSession extends QueuedPackets implements PacketLink {
  readonly id: number;
  readonly closed: Promise<Error | undefined>;
  readonly #channel: DatagramChannel;
  readonly #random: RandomSource;
  readonly #onClose: () => void;
  readonly #onSent: (() => void) | undefined;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #reassembly = new MessageReassembly();
  #idle: IdleTimer | undefined;
  // Most packets of a session have the address of the one before: the last received one and the last sent one are
  // cached.
  #from: { readonly text: string; readonly peer: Endpoint } | undefined;
  #to: { readonly peer: Endpoint; readonly bytes: Uint8Array } | undefined;
  #ended = false;

  /**
   * @param onClose called once, when the session is closed.
   * @param onSent called after each packet that was sent.
   */
  constructor(
    id: number,
    channel: DatagramChannel,
    random: RandomSource,
    onClose: () => void,
    onSent?: () => void,
  ) {
    super(ASSOCIATION_QUEUE);
    this.id = id;
    this.#channel = channel;
    this.#random = random;
    this.#onClose = onClose;
    this.#onSent = onSent;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  /** Time at which the session last sent or received a datagram, on the clock; 0 before `closeWhenIdle`. */
  get lastActive(): number {
    return this.#idle?.lastActive ?? 0;
  }

  /** Closes the session after `milliseconds` without a packet in either direction. */
  closeWhenIdle(clock: Clock, milliseconds: number): void {
    this.#idle = new IdleTimer(clock, milliseconds, () => this.close());
    this.#idle.start();
  }

  /** Takes a received message with this session's id, or a fragment of one. */
  deliver(message: UdpMessage): void {
    if (this.#ended) return;
    const whole = this.#reassembly.add(message);
    if (!whole) return;
    const peer = this.#peerOf(whole.address);
    if (!peer) {
      this.refused++;
      return;
    }
    this.#idle?.touch();
    this.queue.push({ data: whole.data, peer });
  }

  send({ data, peer }: Packet): void {
    const packet = { sessionId: this.id, address: this.#addressOf(peer), data };
    const datagrams = this.#ended
      ? []
      : datagramsOf(packet, this.#channel.maxDatagramSize, this.#random);
    let isSent = datagrams.length > 0;
    for (const datagram of datagrams) {
      // A packet that lacks a fragment is lost: the remaining ones need not be sent.
      isSent &&= this.#channel.sendDatagram(datagram);
    }
    if (!isSent) {
      this.refused++;
      return;
    }
    this.#idle?.touch();
    this.#onSent?.();
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#idle?.stop();
    this.queue.end(cause);
    this.#onClose();
    this.#resolveClosed(cause);
  }

  #peerOf(text: string): Endpoint | undefined {
    if (this.#from?.text === text) return this.#from.peer;
    const peer = parseHostPort(text);
    this.#from = peer && { text, peer };
    return peer;
  }

  #addressOf(peer: Endpoint): Uint8Array {
    const known = this.#to;
    if (known?.peer.port === peer.port && known.peer.host === peer.host) return known.bytes;
    const bytes = Buffer.from(formatEndpoint(peer));
    this.#to = { peer, bytes };
    return bytes;
  }
}

/** The UDP sessions of one connection by their ids, which the client chooses. */
export class UdpSessions {
  readonly #channel: DatagramChannel;
  readonly #random: RandomSource;
  readonly #accept: ((session: UdpSession) => boolean) | undefined;
  readonly #sessions = new Map<number, UdpSession>();
  readonly #lastAddress = new LastAddress();
  #lastId = 0;
  #ended = false;

  /**
   * @param accept returns whether a session that the peer begins is accepted, and then owns it; left out for a client,
   * which accepts none.
   */
  constructor(
    channel: DatagramChannel,
    random: RandomSource,
    accept?: (session: UdpSession) => boolean,
  ) {
    this.#channel = channel;
    this.#random = random;
    this.#accept = accept;
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** Takes the content of a DATAGRAM frame; drops a malformed one and one without a session. */
  receive(data: Uint8Array): void {
    const message = decodeUdpMessage(data, this.#lastAddress);
    if (!message) return;
    const { sessionId } = message;
    const session = this.#sessions.get(sessionId) ?? this.#begin(sessionId);
    session?.deliver(message);
  }

  /**
   * Opens a session with an unused id.
   * @param onSent called after each packet that the session sends.
   */
  open(onSent?: () => void): UdpSession {
    do this.#lastId = (this.#lastId + 1) % IDS;
    while (this.#sessions.has(this.#lastId));
    return this.#create(this.#lastId, onSent);
  }

  /** Closes all sessions and accepts no more. */
  close(cause?: Error): void {
    this.#ended = true;
    for (const session of this.#sessions.values()) session.close(cause);
  }

  #begin(id: number): UdpSession | undefined {
    if (!this.#accept || this.#ended) return undefined;
    const session = this.#create(id);
    if (this.#accept(session)) return session;
    session.close();
    return undefined;
  }

  #create(id: number, onSent?: () => void): UdpSession {
    const onClose = (): void => void this.#sessions.delete(id);
    const session = new UdpSession(id, this.#channel, this.#random, onClose, onSent);
    this.#sessions.set(id, session);
    return session;
  }
}
