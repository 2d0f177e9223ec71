import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import { MAX_TOKEN_BYTES } from '../limits.ts';
import type { Milestones } from '../connection/milestones.ts';
import type { ConnectionParts } from '../connection/parts.ts';
import type { Path } from '../path/path.ts';
import { Space } from '../recovery/space.ts';
import { levelOf } from './levels.ts';
import type { FrameVisitor, FrameError } from '../wire/frame-visitor.ts';
import { copyOf } from '../wire/copy-of.ts';

/** Takes the frames of a packet to the parts that they concern. */
export class FrameHandler implements FrameVisitor {
  readonly #parts: ConnectionParts;
  readonly #milestones: Milestones;
  #space: Space = Space.INITIAL;
  #path: Path<IpEndpoint>;
  #now = 0;
  /** Where the destination id of the packet is. */
  #bytes: Uint8Array = new Uint8Array(0);
  #idAt = 0;
  #idSize = 0;

  constructor(parts: ConnectionParts, milestones: Milestones) {
    this.#parts = parts;
    this.#milestones = milestones;
    this.#path = parts.paths.active;
  }

  /** A packet follows. @param idAt of its destination id. */
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
    const { loss, keys } = this.#parts;
    const error = loss.ackStart(this.#space, largest, delay, this.#now);
    if (error !== undefined) return error;
    if (this.#space === Space.APPLICATION) keys.oneRtt.onAcknowledged(largest);
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
    const { crypto, handshake } = this.#parts;
    return crypto.receive(level, offset, bytes, at, size) ?? handshake.advance(level);
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
    const { paths, events, trace } = this.#parts;
    const validated = paths.onResponse(bytes, at, this.#now);
    if (validated === undefined) return undefined;
    if (trace !== undefined) trace({ kind: 'path', change: 'validated' }, this.#now);
    if (validated === paths.active) events.push({ kind: 'migrated', remote: validated.remote });
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
    this.#milestones.confirm(this.#now);
    return undefined;
  }

  datagram(bytes: Uint8Array, at: number, size: number): FrameError {
    return this.#parts.datagrams.datagram(bytes, at, size);
  }

  #onClose(kind: 'application' | 'transport', code: number, reason: Uint8Array): void {
    const { closing, loss } = this.#parts;
    closing.onPeerClose(kind, code, reason, loss.probeTimeout(), this.#now);
  }
}
