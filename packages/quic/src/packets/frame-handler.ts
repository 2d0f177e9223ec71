import type { ConnectionParts } from '../connection/parts.ts';
import { levelOf } from './crypto-streams.ts';
import { MAX_TOKEN_BYTES } from '../limits.ts';
import type { HandshakeSteps } from '../connection/handshake-steps.ts';
import type { Path } from '../path/paths.ts';
import type { Streams } from '../streams/streams.ts';
import { Space } from '../wire/packet-header.ts';
import type { FrameVisitor, FrameError } from '../wire/frame-types.ts';
import { copyOf } from '@weir/base/bytes';

/** Passes the frames of a packet to the parts of the connection. */
export class FrameHandler implements FrameVisitor {
  readonly streams: Streams;
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
    this.streams = parts.streams;
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

  crypto(offset: number, bytes: Uint8Array, at: number, size: number): FrameError {
    const level = levelOf(this.#space);
    const { receiving } = this.#parts.crypto[level];
    return receiving.receive(offset, bytes, at, size) ?? this.#parts.tls.advance(level);
  }

  newToken(bytes: Uint8Array, at: number, size: number): FrameError {
    if (size <= MAX_TOKEN_BYTES) {
      this.#parts.events.push({ kind: 'token', token: copyOf(bytes, at, at + size) });
    }
    return undefined;
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
    const reason = bytes.subarray(reasonAt, reasonAt + reasonSize);
    this.#parts.closing.onPeerClose('transport', code, reason, this.#now);
    return undefined;
  }

  applicationClose(
    code: number,
    bytes: Uint8Array,
    reasonAt: number,
    reasonSize: number,
  ): FrameError {
    const reason = bytes.subarray(reasonAt, reasonAt + reasonSize);
    this.#parts.closing.onPeerClose('application', code, reason, this.#now);
    return undefined;
  }

  handshakeDone(): FrameError {
    this.#steps.confirm(this.#now);
    return undefined;
  }

  datagram(bytes: Uint8Array, at: number, size: number): FrameError {
    return this.#parts.datagrams.datagram(bytes, at, size);
  }
}
