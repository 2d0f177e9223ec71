import type { RandomSource } from '@weir/base/random';
import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import type { Clock } from '@weir/io/time';
import { IdleTimer } from '@weir/io/pace';
import { endInTurns, type Packet, type PacketLink, ClosablePackets } from '@weir/io/links';
import type { QuicConnection } from '@weir/quic';
import { ADDRESS_LIMIT, ASSOCIATION_QUEUE, FRAGMENT_LIMIT, UDP_PAYLOAD_LIMIT } from './limits.ts';
import {
  decodeUdpMessage,
  encodeUdpMessage,
  LastAddress,
  parseHostPort,
  udpHeaderSize,
  type UdpMessage,
} from './wire.ts';

/** A packet to send. */
interface OutgoingPacket {
  readonly sessionId: number;
  /** The address as `host:port` in UTF-8. */
  readonly address: Uint8Array;
  readonly data: Uint8Array;
}

/** Packet ids have 16 bits; 0 is the id of whole messages. */
const PACKET_IDS = 0xffff;

/**
 * Returns the datagrams that carry a packet, each of at most `maxSize` bytes: one, or fragments under a random packet
 * id. Empty when the packet cannot be sent: without data, with more than UDP_PAYLOAD_LIMIT, or when `maxSize` leaves no
 * room.
 */
export function datagramsOf(
  { sessionId, address, data }: OutgoingPacket,
  maxSize: number,
  random: RandomSource,
): Uint8Array[] {
  if (data.length === 0 || data.length > UDP_PAYLOAD_LIMIT) return [];
  if (address.length === 0 || address.length > ADDRESS_LIMIT) return [];
  const room = maxSize - udpHeaderSize(address.length);
  if (room <= 0) return [];
  const fragmentCount = Math.ceil(data.length / room);
  if (fragmentCount > FRAGMENT_LIMIT) return [];
  if (fragmentCount === 1) {
    const whole = { sessionId, packetId: 0, fragmentId: 0, fragmentCount, address, data };
    return [encodeUdpMessage(whole)];
  }
  const packetId = 1 + random.below(PACKET_IDS);
  const datagrams: Uint8Array[] = [];
  for (let fragmentId = 0; fragmentId < fragmentCount; fragmentId++) {
    const part = data.subarray(fragmentId * room, (fragmentId + 1) * room);
    datagrams.push(
      encodeUdpMessage({ sessionId, packetId, fragmentId, fragmentCount, address, data: part }),
    );
  }
  return datagrams;
}

/**
 * Reassembles the messages of one session. As in the reference, only one is held: a fragment of
 * another message discards it. Holds at most UDP_PAYLOAD_LIMIT bytes.
 */
export class MessageReassembly {
  #packetId = 0;
  #fragmentCount = 0;
  readonly #parts = new Map<number, Uint8Array>();
  #size = 0;

  /**
   * Takes a message or a fragment; fragments are copied.
   * @returns a complete message, `undefined` while fragments are missing or when it was dropped.
   */
  add(message: UdpMessage): UdpMessage | undefined {
    const { packetId, fragmentId, fragmentCount, data } = message;
    if (fragmentCount <= 1) return data.length > UDP_PAYLOAD_LIMIT ? undefined : message;
    if (fragmentId >= fragmentCount) return undefined;
    if (packetId !== this.#packetId || fragmentCount !== this.#fragmentCount) {
      this.#begin(packetId, fragmentCount);
    }
    if (this.#parts.has(fragmentId)) return undefined;
    this.#size += data.length;
    if (this.#size > UDP_PAYLOAD_LIMIT) {
      this.#begin(0, 0);
      return undefined;
    }
    // A copy: a view would keep the whole datagram alive, and `slice` of a Buffer returns a view.
    this.#parts.set(fragmentId, new Uint8Array(data));
    if (this.#parts.size < fragmentCount) return undefined;
    const parts = [...this.#parts].toSorted(([one], [other]) => one - other);
    const whole = Buffer.concat(parts.map(([, part]) => part));
    this.#begin(0, 0);
    return { ...message, fragmentId: 0, fragmentCount: 1, data: whole };
  }

  #begin(packetId: number, fragmentCount: number): void {
    this.#packetId = packetId;
    this.#fragmentCount = fragmentCount;
    this.#parts.clear();
    this.#size = 0;
  }
}

/** The part of a connection that UDP sessions use. */
type DatagramChannel = Pick<QuicConnection, 'sendDatagram' | 'maxDatagramSize'>;

/** Number of session ids, which have 32 bits. */
const IDS = 2 ** 32;

/** One association over the DATAGRAM frames of a connection, on either side. */
export class UdpSession extends ClosablePackets implements PacketLink {
  readonly id: number;
  readonly #channel: DatagramChannel;
  readonly #random: RandomSource;
  readonly #onClose: () => void;
  readonly #onSent: (() => void) | undefined;
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
    this.resolveClosed(cause);
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

  /** Closes all sessions, in turns of the event loop since a client may have thousands, and accepts no more. */
  close(cause?: Error): void {
    this.#ended = true;
    void endInTurns([...this.#sessions.values()], (session) => session.close(cause));
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
