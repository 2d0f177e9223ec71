import assert from 'node:assert/strict';
import type { QuicError } from '../../../src/quic/errors.ts';
import { SentFrames } from '../../../src/quic/recovery/sent-frames.ts';
import { receiveMemory } from '../../../src/quic/streams/grants.ts';
import type { StreamEvent } from '../../../src/quic/streams/stream.ts';
import {
  DEFAULT_STREAM_GRANTS,
  END_OF_STREAM,
  type PeerGrants,
  type StreamGrants,
  Streams,
} from '../../../src/quic/streams/streams.ts';
import { FrameReader } from '../../../src/quic/wire/frame-reader.ts';
import type { FrameVisitor, FrameError } from '../../../src/quic/wire/frame-visitor.ts';
import { PacketType } from '../../../src/quic/wire/packet-header.ts';

/** The frames of a packet on its way, and where its sender has noted them. */
export interface SentPacket {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly count: number;
}

const unexpected = (): FrameError => assert.fail('a frame that streams never send');

/** One side: its streams and what a connection does around them. */
export class End {
  readonly streams: Streams;
  readonly log = new SentFrames();
  /** The frames that have come, as text. */
  readonly received: string[] = [];
  readonly #reader: FrameReader;

  constructor(side: 'client' | 'server', grants: StreamGrants, isPeerKnown = true) {
    this.streams = new Streams(side, grants, isPeerKnown);
    this.#reader = new FrameReader(side);
  }

  /** The next packet, with its frames read by `describe`; `undefined` when nothing is due. */
  packet(size = 1200): SentPacket | undefined {
    const { streams, log } = this;
    const promised = streams.hasFrames;
    const bytes = new Uint8Array(size);
    const end = streams.writeFrames(bytes, 0, size, log);
    assert.ok(end <= size);
    assert.equal(end > 0, promised, 'hasFrames says whether something is written');
    if (end === 0) return undefined;
    const packet = { bytes: bytes.subarray(0, end), start: log.start, count: log.count };
    log.take();
    return packet;
  }

  receive(packet: SentPacket): QuicError | undefined {
    const { bytes } = packet;
    return this.#reader.read(bytes, 0, bytes.length, PacketType.ONE_RTT, this.#visitor);
  }

  settle(outcome: 'acknowledged' | 'lost', { start, count }: SentPacket): void {
    if (outcome === 'lost') this.log.lose(start, count);
    else this.log.acknowledge(start, count);
  }

  events(): StreamEvent[] {
    const events: StreamEvent[] = [];
    for (let event = this.streams.nextEvent(); event; event = this.streams.nextEvent()) {
      events.push(event);
    }
    return events;
  }

  /** The kinds of events, with ids and codes. */
  happened(): string[] {
    return this.events().map((event) => Object.values(event).join(' '));
  }

  /** Everything that can be read now; whether the end is among it. */
  read(id: number): { readonly data: Buffer; readonly ended: boolean } {
    const chunks: Uint8Array[] = [];
    for (;;) {
      const chunk = this.streams.read(id);
      if (chunk === undefined || chunk === END_OF_STREAM) {
        return { data: Buffer.concat(chunks), ended: chunk === END_OF_STREAM };
      }
      chunks.push(chunk);
    }
  }

  #note(name: string, ...numbers: readonly (number | boolean)[]): void {
    this.received.push([name, ...numbers].join(' '));
  }

  readonly #visitor: FrameVisitor = {
    ping: unexpected,
    ackStart: unexpected,
    ackRange: unexpected,
    ackEnd: unexpected,
    crypto: unexpected,
    newToken: unexpected,
    newConnectionId: unexpected,
    retireConnectionId: unexpected,
    pathChallenge: unexpected,
    pathResponse: unexpected,
    connectionClose: unexpected,
    applicationClose: unexpected,
    handshakeDone: unexpected,
    datagram: unexpected,
    resetStream: (id, code, finalSize) => {
      this.#note('RESET_STREAM', id, code, finalSize);
      return this.streams.resetStream(id, code, finalSize);
    },
    stopSending: (id, code) => {
      this.#note('STOP_SENDING', id, code);
      return this.streams.stopSendingReceived(id, code);
    },
    stream: (id, offset, bytes, at, size, fin) => {
      this.#note(fin ? 'STREAM_FIN' : 'STREAM', id, offset, size);
      return this.streams.stream(id, offset, bytes, at, size, fin);
    },
    maxData: (limit) => {
      this.#note('MAX_DATA', limit);
      return this.streams.maxData(limit);
    },
    maxStreamData: (id, limit) => {
      this.#note('MAX_STREAM_DATA', id, limit);
      return this.streams.maxStreamData(id, limit);
    },
    maxStreams: (bidirectional, limit) => {
      this.#note('MAX_STREAMS', bidirectional, limit);
      return this.streams.maxStreams(bidirectional, limit);
    },
    dataBlocked: (limit) => {
      this.#note('DATA_BLOCKED', limit);
      return this.streams.dataBlocked(limit);
    },
    streamDataBlocked: (id, limit) => {
      this.#note('STREAM_DATA_BLOCKED', id, limit);
      return this.streams.streamDataBlocked(id, limit);
    },
    streamsBlocked: (bidirectional, limit) => {
      this.#note('STREAMS_BLOCKED', bidirectional, limit);
      return this.streams.streamsBlocked(bidirectional, limit);
    },
  };
}

/** What the transport parameters of a side say. */
export const grantsOf = (grants: StreamGrants): PeerGrants => ({
  initialMaxData: grants.connectionWindow,
  initialMaxStreamDataBidiLocal: grants.streamWindow,
  initialMaxStreamDataBidiRemote: grants.streamWindow,
  initialMaxStreamDataUni: grants.streamWindow,
  initialMaxStreamsBidi: grants.bidirectionalStreams,
  initialMaxStreamsUni: grants.unidirectionalStreams,
});

/** Two sides whose packets a test moves by hand. */
export class StreamsPair {
  readonly client: End;
  readonly server: End;

  /** @param isClientKnown whether the client need not authenticate itself. */
  constructor(
    server: Partial<StreamGrants> = {},
    client: Partial<StreamGrants> = {},
    isClientKnown = true,
  ) {
    const serverGrants = { ...DEFAULT_STREAM_GRANTS, ...server };
    const clientGrants = { ...DEFAULT_STREAM_GRANTS, ...client };
    this.client = new End('client', clientGrants);
    this.server = new End('server', serverGrants, isClientKnown);
    const initialMaxData = receiveMemory(serverGrants, isClientKnown).window;
    this.client.streams.setPeerGrants({ ...grantsOf(serverGrants), initialMaxData });
    this.server.streams.setPeerGrants(grantsOf(clientGrants));
  }

  /** Moves one packet, and acknowledges it. Returns false when there was none. */
  deliver(from: End): boolean {
    const packet = from.packet();
    if (!packet) return false;
    assert.equal(this.other(from).receive(packet), undefined);
    from.settle('acknowledged', packet);
    return true;
  }

  /** Moves packets in both directions until none is left. */
  run(): void {
    for (let moved = true; moved;) {
      moved = this.deliver(this.client);
      moved = this.deliver(this.server) || moved;
    }
  }

  other(end: End): End {
    return end === this.client ? this.server : this.client;
  }
}
