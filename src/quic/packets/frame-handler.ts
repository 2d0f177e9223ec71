import type { Closing } from '../connection/closing.ts';
import type { ConnectionKeys } from '../connection/connection-keys.ts';
import { type CryptoStreams, levelOf } from './crypto-streams.ts';
import type { ConnectionTls } from '../connection/connection-tls.ts';
import type { LocalConnectionIds } from '../path/connection-ids.ts';
import type { PeerConnectionIds } from '../path/connection-ids.ts';
import type { Paths } from '../path/paths.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';
import type { Streams } from '../streams/streams.ts';
import type { DatagramFrames } from './datagram-frames.ts';
import type { EventQueue } from '../connection/event-queue.ts';
import type { Telemetry } from '../connection/telemetry.ts';
import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import { MAX_TOKEN_BYTES } from '../limits.ts';
import type { HandshakeSteps } from '../connection/handshake-steps.ts';
import type { Path } from '../path/path.ts';
import { Space } from '../recovery/space.ts';
import type { FrameVisitor, FrameError } from '../wire/frame-visitor.ts';
import { copyOf } from '../../collections/copy-bytes.ts';

/** The parts of a connection that `FrameHandler` uses. */
export interface FrameHandlerParts {
  readonly closing: Closing;
  readonly keys: ConnectionKeys;
  readonly crypto: CryptoStreams;
  readonly tls: ConnectionTls;
  readonly localIds: LocalConnectionIds;
  readonly peerIds: PeerConnectionIds;
  readonly paths: Paths<IpEndpoint>;
  readonly loss: LossDetection;
  readonly streams: Streams;
  readonly datagrams: DatagramFrames;
  readonly events: EventQueue;
  readonly telemetry: Telemetry;
}

/** Passes the frames of a packet to the parts of the connection. */
export class FrameHandler implements FrameVisitor {
  readonly #closing: Closing;
  readonly #keys: ConnectionKeys;
  readonly #crypto: CryptoStreams;
  readonly #tls: ConnectionTls;
  readonly #localIds: LocalConnectionIds;
  readonly #peerIds: PeerConnectionIds;
  readonly #paths: Paths<IpEndpoint>;
  readonly #loss: LossDetection;
  readonly #streams: Streams;
  readonly #datagrams: DatagramFrames;
  readonly #events: EventQueue;
  readonly #telemetry: Telemetry;
  readonly #steps: HandshakeSteps;
  #space: Space = Space.INITIAL;
  #path: Path<IpEndpoint>;
  #now = 0;
  /** The destination connection id of the packet. */
  #bytes: Uint8Array = new Uint8Array(0);
  #idAt = 0;
  #idSize = 0;

  constructor(parts: FrameHandlerParts, steps: HandshakeSteps) {
    this.#closing = parts.closing;
    this.#keys = parts.keys;
    this.#crypto = parts.crypto;
    this.#tls = parts.tls;
    this.#localIds = parts.localIds;
    this.#peerIds = parts.peerIds;
    this.#paths = parts.paths;
    this.#loss = parts.loss;
    this.#streams = parts.streams;
    this.#datagrams = parts.datagrams;
    this.#events = parts.events;
    this.#telemetry = parts.telemetry;
    this.#steps = steps;
    this.#path = parts.paths.active;
  }

  /** Begins a packet. @param idAt the offset of its destination connection id. */
  begin(
    space: Space,
    path: Path<IpEndpoint>,
    bytes: Uint8Array,
    idAt: number,
    idSize: number,
    now: number,
  ): void {
    this.#space = space;
    this.#path = path;
    this.#bytes = bytes;
    this.#idAt = idAt;
    this.#idSize = idSize;
    this.#now = now;
  }

  ping(): FrameError {
    return undefined;
  }

  ackStart(largest: number, delay: number): FrameError {
    const error = this.#loss.ackStart(this.#space, largest, delay, this.#now);
    if (error !== undefined) return error;
    if (this.#space === Space.APPLICATION) this.#keys.oneRtt.onAcknowledged(largest);
    return undefined;
  }

  ackRange(smallest: number, largest: number): FrameError {
    return this.#loss.ackRange(smallest, largest);
  }

  ackEnd(hasEcn: boolean, ect0: number, ect1: number, ce: number): FrameError {
    return this.#loss.ackEnd(hasEcn, ect0, ect1, ce);
  }

  resetStream(id: number, code: number, finalSize: number): FrameError {
    return this.#streams.resetStream(id, code, finalSize);
  }

  stopSending(id: number, code: number): FrameError {
    return this.#streams.stopSendingReceived(id, code);
  }

  crypto(offset: number, bytes: Uint8Array, at: number, size: number): FrameError {
    const level = levelOf(this.#space);
    return this.#crypto.receive(level, offset, bytes, at, size) ?? this.#tls.advance(level);
  }

  newToken(bytes: Uint8Array, at: number, size: number): FrameError {
    if (size <= MAX_TOKEN_BYTES) {
      this.#events.push({ kind: 'token', token: copyOf(bytes, at, at + size) });
    }
    return undefined;
  }

  stream(
    id: number,
    offset: number,
    bytes: Uint8Array,
    at: number,
    size: number,
    fin: boolean,
  ): FrameError {
    return this.#streams.stream(id, offset, bytes, at, size, fin);
  }

  maxData(limit: number): FrameError {
    return this.#streams.maxData(limit);
  }

  maxStreamData(id: number, limit: number): FrameError {
    return this.#streams.maxStreamData(id, limit);
  }

  maxStreams(bidirectional: boolean, limit: number): FrameError {
    return this.#streams.maxStreams(bidirectional, limit);
  }

  dataBlocked(limit: number): FrameError {
    return this.#streams.dataBlocked(limit);
  }

  streamDataBlocked(id: number, limit: number): FrameError {
    return this.#streams.streamDataBlocked(id, limit);
  }

  streamsBlocked(bidirectional: boolean, limit: number): FrameError {
    return this.#streams.streamsBlocked(bidirectional, limit);
  }

  newConnectionId(
    sequence: number,
    retirePriorTo: number,
    bytes: Uint8Array,
    idAt: number,
    idSize: number,
    resetTokenAt: number,
  ): FrameError {
    return this.#peerIds.add(sequence, retirePriorTo, bytes, idAt, idSize, resetTokenAt);
  }

  retireConnectionId(sequence: number): FrameError {
    const packetId = this.#bytes.subarray(this.#idAt, this.#idAt + this.#idSize);
    return this.#localIds.retire(sequence, packetId);
  }

  pathChallenge(bytes: Uint8Array, at: number): FrameError {
    this.#path.onChallenge(bytes, at);
    return undefined;
  }

  pathResponse(bytes: Uint8Array, at: number): FrameError {
    const validated = this.#paths.onResponse(bytes, at, this.#now);
    if (validated === undefined) return undefined;
    this.#telemetry.trace({ kind: 'path', change: 'validated' }, this.#now);
    if (validated === this.#paths.active)
      this.#events.push({ kind: 'migrated', remote: validated.remote });
    return undefined;
  }

  connectionClose(
    code: number,
    _frameType: number,
    bytes: Uint8Array,
    reasonAt: number,
    reasonSize: number,
  ): FrameError {
    this.#onClose('transport', code, bytes.subarray(reasonAt, reasonAt + reasonSize));
    return undefined;
  }

  applicationClose(
    code: number,
    bytes: Uint8Array,
    reasonAt: number,
    reasonSize: number,
  ): FrameError {
    this.#onClose('application', code, bytes.subarray(reasonAt, reasonAt + reasonSize));
    return undefined;
  }

  handshakeDone(): FrameError {
    this.#steps.confirm(this.#now);
    return undefined;
  }

  datagram(bytes: Uint8Array, at: number, size: number): FrameError {
    return this.#datagrams.datagram(bytes, at, size);
  }

  #onClose(kind: 'application' | 'transport', code: number, reason: Uint8Array): void {
    this.#closing.onPeerClose(kind, code, reason, this.#now);
  }
}
