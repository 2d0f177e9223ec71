import type { IpEndpoint, Ecn } from '@weir/base/ip';
import type { CloseReason, Role } from '../contract.ts';
import type { TransmitBatch } from '@weir/io/datagrams';
import { QuicError } from '../errors.ts';
import { Space, SPACES } from '../wire/packet-header.ts';
import type { END_OF_STREAM } from '../streams/receive-stream.ts';
import type { ClientOptions, ServerOptions } from './connection-options.ts';
import type { CreateController } from '@weir/congestion';
import { PacketAssembler } from '../packets/packet-assembler.ts';
import { PacketBuilder } from '../packets/packet-builder.ts';
import { PacketReceiver } from '../packets/packet-receiver.ts';
import { PendingFrames } from '../packets/pending-frames.ts';
import { DatagramSize, PathChanges } from '../path/path-changes.ts';
import { ClientNegotiation, HandshakeSteps } from './handshake-steps.ts';
import { createParts, type ConnectionParts } from './parts.ts';
import type { ConnectionEvent, LifecycleState } from './lifecycle.ts';
import {
  clientIdentity,
  type ConnectionIdentity,
  ownParameters,
  serverIdentity,
} from './connection-tls.ts';
import type { ConnectionStatistics } from '../trace.ts';

export type { ClientOptions, IdIssuer, RegisteredId, ServerOptions } from './connection-options.ts';

/**
 * A QUIC connection (RFC 9000) without a socket, a clock or a timer. Its driver passes datagrams in, sends the batches
 * of `transmit`, calls `onTimeout` at `nextTimeout()`, and handles the events. Times are milliseconds of a monotonic
 * clock. Nothing that a peer sends makes a method throw.
 *
 * After a call other than a query, the driver handles events and calls `transmit` in turn until neither has anything
 * left, then reads `nextTimeout`. A driver may pause between batches.
 */
export class QuicCore {
  readonly #parts: ConnectionParts;
  readonly #size: DatagramSize;
  readonly #pathChanges: PathChanges;
  readonly #pending: PendingFrames;
  readonly #receiver: PacketReceiver;
  readonly #assembler: PacketAssembler;
  #isReleased = false;

  static client(options: ClientOptions): QuicCore {
    return new QuicCore(options, clientIdentity(options));
  }

  /** Creates the connection of a client's first Initial packet, which is then passed to `receiveBatch`. */
  static server(options: ServerOptions): QuicCore {
    return new QuicCore(options, serverIdentity(options));
  }

  private constructor(options: ClientOptions | ServerOptions, identity: ConnectionIdentity) {
    const { now, settings } = options;
    const parts = createParts(options, identity);
    this.#parts = parts;
    const size = new DatagramSize(parts);
    const pathChanges = new PathChanges(parts, size);
    const pending = new PendingFrames(parts);
    const makeToken = 'makeToken' in options ? options.makeToken : undefined;
    const steps = new HandshakeSteps(parts, size, pending, makeToken);
    const builder = new PacketBuilder(parts, 'token' in options ? options.token : undefined);
    const negotiation =
      identity.role === 'client' ? new ClientNegotiation(parts, builder) : undefined;
    this.#size = size;
    this.#pathChanges = pathChanges;
    this.#pending = pending;
    this.#receiver = new PacketReceiver(parts, steps, pathChanges, negotiation);
    this.#assembler = new PacketAssembler(parts, steps, pending, builder);
    parts.deadlines.set('handshake', now + settings.handshakeTimeout);
    parts.idle.onReceived(now);
    parts.tls.start(ownParameters(settings, identity));
  }

  get role(): Role {
    return this.#parts.role;
  }

  get state(): LifecycleState {
    return this.#parts.lifecycle.state;
  }

  /** The peer's address on the path in use. */
  get remote(): IpEndpoint {
    return this.#parts.paths.active.remote;
  }

  get local(): IpEndpoint | undefined {
    return this.#parts.paths.active.local;
  }

  /** The reason why the connection has ended; `undefined` while it has not. */
  get closeReason(): CloseReason | undefined {
    return this.#parts.closing.reason;
  }

  // ---- the driver's calls ----

  /**
   * Processes a datagram of the peer, or consecutive ones, which is faster than one by one. They are decrypted in place
   * and not used after the call.
   *
   * @param stride bytes of each datagram but the last, which may be shorter; of a single one its length.
   * @param own the local address that they were sent to, if known.
   */
  receiveBatch(
    buffer: Uint8Array,
    offset: number,
    length: number,
    stride: number,
    peer: IpEndpoint,
    own: IpEndpoint | undefined,
    ecn: Ecn,
    now: number,
  ): void {
    const { lifecycle, telemetry, streams, loss } = this.#parts;
    const receiver = this.#receiver;
    telemetry.bytesReceived += length;
    streams.setPace(now, loss.control.rtt.smoothed);
    const end = offset + length;
    if (length > stride) receiver.prepare(buffer, offset, stride, end);
    for (let at = offset; at < end; at += stride) {
      telemetry.datagramsReceived++;
      if (!lifecycle.isOpen && lifecycle.state !== 'closing') continue;
      const size = Math.min(stride, end - at);
      receiver.receive(buffer, at, size, peer, own, ecn, now);
    }
    receiver.forgetMasks();
    this.#pathChanges.retireIds();
    this.#size.update(now);
    this.#releaseWhenClosed();
  }

  /** Whether a datagram for an unknown id is a stateless reset by this peer (§10.3.1); `receive` checks too. */
  isStatelessReset(buffer: Uint8Array, offset: number, length: number): boolean {
    return this.#parts.peerIds.isStatelessReset(buffer, offset, length);
  }

  /** Fills `out` with datagrams that may be sent now, for one send. Returns false when there are none. */
  transmit(now: number, out: TransmitBatch): boolean {
    const { lifecycle, closing, keys, telemetry, work } = this.#parts;
    const assembler = this.#assembler;
    work.restart();
    if (lifecycle.isOpen) {
      const { exhausted } = keys.oneRtt;
      if (exhausted !== undefined) this.#fail(exhausted, now);
      else if (keys.oneRtt.updateDue && keys.oneRtt.initiateUpdate()) {
        telemetry.trace({ kind: 'key-update', updates: keys.oneRtt.updates }, now);
      }
    }
    if (lifecycle.isOpen) return assembler.assemble(out, now);
    return closing.isFrameDue && assembler.close(out, now);
  }

  /**
   * Returns the time at which `onTimeout`, and `transmit` after it, must be called; Infinity for never. It may be in
   * the past after `receiveBatch`, when a smaller RTT was measured: the call is then due at once.
   */
  nextTimeout(): number {
    const { lifecycle, deadlines, loss, paths, keys, acks } = this.#parts;
    if (!lifecycle.isOpen) return deadlines.next;
    const path = paths.active;
    const next = Math.min(
      deadlines.next,
      loss.timeout,
      paths.timeout,
      path.mtu.timeout,
      keys.oneRtt.nextTimeout() ?? Infinity,
    );
    // At the anti-amplification limit no acknowledgement can be sent before the next packet of the peer.
    if (!this.#assembler.maySend) return next;
    let acknowledgement = Infinity;
    for (const space of SPACES) {
      if (!keys.canSeal(space)) continue;
      if (space === Space.APPLICATION && !lifecycle.isEstablished) continue;
      acknowledgement = Math.min(acknowledgement, acks[space]?.deadline ?? Infinity);
    }
    return Math.min(next, acknowledgement);
  }

  /** Handles the deadlines that have passed; no effect before `nextTimeout()`. */
  onTimeout(now: number): void {
    const { lifecycle, deadlines, closing, loss, paths, keys, telemetry } = this.#parts;
    if (lifecycle.isOpen) {
      if (deadlines.take('idle', now)) this.#endIdle('the peer was silent for too long', now);
      else if (deadlines.take('handshake', now)) this.#endIdle('the handshake took too long', now);
    }
    if (lifecycle.isOpen) {
      deadlines.take('pacing', now);
      if (deadlines.take('keepAlive', now)) this.#pending.requestPing();
      keys.oneRtt.onTimeout(now);
      if (now >= paths.timeout) this.#pathChanges.onTimeout(now);
    }
    if (lifecycle.isOpen && now >= loss.timeout) {
      const { ptoCount } = loss;
      loss.onTimeout(now);
      if (loss.ptoCount > ptoCount) {
        paths.active.mtu.onProbeTimeout(loss.ptoCount, now);
        telemetry.trace({ kind: 'probe', count: loss.ptoCount }, now);
      }
      this.#size.update(now);
    }
    if (deadlines.take('close', now)) closing.onTimeout(now);
    this.#releaseWhenClosed();
  }

  /**
   * Returns the next received DATAGRAM frame, which is otherwise reported as an event; `undefined` when there is none.
   * Drivers call it after each `receiveBatch`, so that the queue holds the frames of one batch at most.
   */
  nextDatagram(): Uint8Array | undefined {
    return this.#parts.datagrams.next();
  }

  /** Returns the next event; `undefined` when there is none. */
  nextEvent(): ConnectionEvent | undefined {
    return this.#parts.events.next();
  }

  /** Called when the system refused a datagram of this size (EMSGSIZE). */
  onTooLarge(bytes: number, now: number): void {
    this.#parts.paths.active.mtu.onTooLarge(bytes, now);
    this.#size.update(now);
  }

  /** Ends the connection at once without sending anything: the socket is closed. */
  abandon(now: number): void {
    const reason = 'the connection was abandoned';
    this.#parts.closing.end({ kind: 'transport', by: 'self', code: 0, reason }, now);
    this.#releaseWhenClosed();
  }

  // ---- the application's calls; see `Streams` and `DatagramFrames` ----

  /** Opens a stream; `undefined` while the peer allows no more, or before the handshake is complete. */
  openStream(bidirectional: boolean): number | undefined {
    return this.#parts.lifecycle.isOpen ? this.#parts.streams.open(bidirectional) : undefined;
  }

  /** Sets the number of streams that the peer may open; see `Streams.allowStreams`. */
  allowStreams(atOnce: number): void {
    this.#parts.streams.allowStreams(atOnce);
  }

  /** Called when the peer has authenticated itself: see `ConnectionSettings.authenticates`. Idempotent. */
  authenticated(): void {
    this.#parts.streams.onAuthenticated();
    this.#parts.work.onAuthenticated();
  }

  /** Queues bytes of a stream; see `Streams.write`. */
  write(id: number, chunk: Uint8Array, isOwned = false): boolean | undefined {
    return this.#parts.lifecycle.isOpen ? this.#parts.streams.write(id, chunk, isOwned) : undefined;
  }

  /** Returns the number of bytes of a stream that were written and never sent. */
  queued(id: number): number {
    return this.#parts.streams.queued(id);
  }

  /** Returns the number of bytes that the peer has not acknowledged; see `Streams.undelivered`. */
  undelivered(id: number): number {
    return this.#parts.streams.undelivered(id);
  }

  finish(id: number): void {
    this.#parts.streams.finish(id);
  }

  reset(id: number, code: number): void {
    this.#parts.streams.reset(id, code);
  }

  /** Reads the next bytes of a stream; see `Streams.read`. */
  read(id: number): Uint8Array | typeof END_OF_STREAM | undefined {
    return this.#parts.streams.read(id);
  }

  stopSending(id: number, code: number): void {
    this.#parts.streams.stopReading(id, code);
  }

  /** Queues a DATAGRAM frame; returns false when it was dropped: too large, queue full, or connection ended. */
  sendDatagram(data: Uint8Array): boolean {
    return this.#parts.lifecycle.isOpen && this.#parts.datagrams.send(data);
  }

  /** The largest payload that `sendDatagram` accepts now; 0 when the peer accepts none. */
  get maxDatagramSize(): number {
    return this.#parts.datagrams.maxSize;
  }

  /** Uses another congestion controller from now on. */
  useController(create: CreateController): void {
    this.#parts.paths.useController(create);
  }

  /** Ends the connection with an error code of the application (§10.2). Idempotent. */
  close(code: number, reason: string, now: number): void {
    this.#parts.closing.closeByApplication(code, reason, now);
  }

  /** Ends the connection with a transport error code (§20.1), such as NO_ERROR or CONNECTION_REFUSED. Idempotent. */
  closeTransport(code: number, reason: string, now: number): void {
    this.#fail(new QuicError(code, reason), now);
  }

  statistics(): ConnectionStatistics {
    const { telemetry, loss, paths } = this.#parts;
    const { control } = loss;
    return {
      bytesSent: telemetry.bytesSent,
      bytesReceived: telemetry.bytesReceived,
      datagramsSent: telemetry.datagramsSent,
      datagramsReceived: telemetry.datagramsReceived,
      packetsSent: telemetry.packetsSent,
      packetsReceived: telemetry.packetsReceived,
      packetsDropped: telemetry.packetsDropped,
      packetsLost: loss.lostPackets,
      inFlight: control.inFlight,
      window: control.controller.window,
      pacingRate: control.controller.pacingRate,
      smoothedRtt: control.rtt.smoothed,
      minimumRtt: control.rtt.minimum,
      datagramSize: paths.active.mtu.current,
    };
  }

  #fail(error: QuicError, now: number): void {
    this.#parts.closing.fail(error, now);
  }

  #endIdle(reason: string, now: number): void {
    this.#parts.closing.end({ kind: 'idle', by: 'self', code: 0, reason }, now);
  }

  /** Frees native memory, and the ids at the endpoint, once the connection is closed. */
  #releaseWhenClosed(): void {
    const { lifecycle, keys, tls, localIds } = this.#parts;
    if (this.#isReleased || lifecycle.state !== 'closed') return;
    this.#isReleased = true;
    keys[Symbol.dispose]();
    tls[Symbol.dispose]();
    localIds.dispose();
  }
}
