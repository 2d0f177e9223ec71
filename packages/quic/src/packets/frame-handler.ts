import type { ConnectionParts } from '../connection/parts.ts';
import { levelOf } from './crypto-streams.ts';
import { MAX_TOKEN_BYTES } from '../limits.ts';
import type { HandshakeSteps } from '../connection/handshake-steps.ts';
import type { Path } from '../path/paths.ts';
import { Space } from '../wire/packet-header.ts';
import type { FrameVisitor, FrameError } from '../wire/frame-types.ts';
import { copyOf } from '@weir/base/bytes';

/** Passes the frames of a packet to the parts of the connection. */
export class FrameHandler implements FrameVisitor {
  readonly #parts: ConnectionParts;
  readonly #steps: HandshakeSteps;
  #space: Space = Space.INITIAL;
  #path: Path;
  #now = 0;
  /** The destination connection id of the packet. */
  #bytes: Uint8Array = new Uint8Array(0);
  #idAt = 0;
  #idSize = 0;

  constructor(parts: ConnectionParts, steps: HandshakeSteps) {
    this.#parts = parts;
    this.#steps = steps;
    this.#path = parts.paths.active;
  }

  /** Begins a packet. @param idAt the offset of its destination connection id. */
  begin(
    space: Space,
    path: Path,
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
    const error = this.#parts.loss.ackStart(this.#space, largest, delay, this.#now);
    if (error !== undefined) return error;
    if (this.#space === Space.APPLICATION) this.#parts.keys.oneRtt.onAcknowledged(largest);
    return undefined;
  }

  ackRange(smallest: number, largest: number): FrameError {
    return this.#parts.loss.ackRange(smallest, largest);
  }

  ackEnd(hasEcn: boolean, ect0: number, ect1: number, ce: number): FrameError {
    return this.#parts.loss.ackEnd(hasEcn, ect0, ect1, ce);
  }

  resetStream(id: number, code: number, finalSize: number): FrameError {
    return this.#parts.streams.resetStream(id, code, finalSize);
  }

  stopSending(id: number, code: number): FrameError {
    return this.#parts.streams.stopSendingReceived(id, code);
  }

  crypto(offset: number, bytes: Uint8Array, at: number, size: number): FrameError {
    const level = levelOf(this.#space);
    return (
      this.#parts.crypto.receive(level, offset, bytes, at, size) ?? this.#parts.tls.advance(level)
    );
  }

  newToken(bytes: Uint8Array, at: number, size: number): FrameError {
    if (size <= MAX_TOKEN_BYTES) {
      this.#parts.events.push({ kind: 'token', token: copyOf(bytes, at, at + size) });
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
    return this.#parts.streams.stream(id, offset, bytes, at, size, fin);
  }

  maxData(limit: number): FrameError {
    return this.#parts.streams.maxData(limit);
  }

  maxStreamData(id: number, limit: number): FrameError {
    return this.#parts.streams.maxStreamData(id, limit);
  }

  maxStreams(bidirectional: boolean, limit: number): FrameError {
    return this.#parts.streams.maxStreams(bidirectional, limit);
  }

  dataBlocked(limit: number): FrameError {
    return this.#parts.streams.dataBlocked(limit);
  }

  streamDataBlocked(id: number, limit: number): FrameError {
    return this.#parts.streams.streamDataBlocked(id, limit);
  }

  streamsBlocked(bidirectional: boolean, limit: number): FrameError {
    return this.#parts.streams.streamsBlocked(bidirectional, limit);
  }

  newConnectionId(
    sequence: number,
    retirePriorTo: number,
    bytes: Uint8Array,
    idAt: number,
    idSize: number,
    resetTokenAt: number,
  ): FrameError {
    return this.#parts.peerIds.add(sequence, retirePriorTo, bytes, idAt, idSize, resetTokenAt);
  }

  retireConnectionId(sequence: number): FrameError {
    const packetId = this.#bytes.subarray(this.#idAt, this.#idAt + this.#idSize);
    return this.#parts.localIds.retire(sequence, packetId);
  }

  pathChallenge(bytes: Uint8Array, at: number): FrameError {
    this.#path.onChallenge(bytes, at);
    return undefined;
  }

  pathResponse(bytes: Uint8Array, at: number): FrameError {
    const { paths } = this.#parts;
    const validated = paths.onResponse(bytes, at, this.#now);
    if (validated === undefined) return undefined;
    this.#parts.telemetry.trace({ kind: 'path', change: 'validated' }, this.#now);
    if (validated === paths.active)
      this.#parts.events.push({ kind: 'migrated', remote: validated.remote });
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
    return this.#parts.datagrams.datagram(bytes, at, size);
  }

  #onClose(kind: 'application' | 'transport', code: number, reason: Uint8Array): void {
    this.#parts.closing.onPeerClose(kind, code, reason, this.#now);
  }
}
