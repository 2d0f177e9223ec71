import type { ConnectionEvent } from '../../../../packages/quic/src/connection/lifecycle.ts';
import type { ConnectionCore } from '../../../../packages/quic/src/endpoint/connection-driver.ts';
import type {
  ClientOptions,
  ServerOptions,
} from '../../../../packages/quic/src/connection/quic-core.ts';
import type { ConnectionStatistics } from '../../../../packages/quic/src/trace.ts';
import type { CloseReason } from '../../../../packages/quic/src/contract.ts';
import type { TransmitBatch } from '@weir/io/datagrams';
import { copyEndpoint, type IpEndpoint } from '@weir/base/ip';

/** What a scripted connection sends next: datagrams of one size, the last may be shorter. */
export interface Batch {
  readonly bytes: number;
  readonly segmentSize: number;
}

/** A connection that does what a test says and writes down what is asked of it. */
export class ScriptedCore implements ConnectionCore {
  readonly options: ClientOptions | ServerOptions;
  readonly role: 'client' | 'server';
  readonly id: Uint8Array;
  readonly resetToken: Uint8Array;
  state: ConnectionCore['state'] = 'handshaking';
  remote: IpEndpoint;
  readonly local = undefined;
  /** Datagrams that were received. */
  readonly received: Buffer[] = [];
  /** Batches to send, one for each `transmit`. */
  readonly toSend: Batch[] = [];
  readonly events: ConnectionEvent[] = [];
  /** Payloads of DATAGRAM frames that were received. */
  readonly datagrams: Uint8Array[] = [];
  deadline = Infinity;
  readonly timeouts: number[] = [];
  readonly tooLarge: number[] = [];
  readonly closes: { readonly code: number; readonly reason: string }[] = [];
  /** The token whose datagrams are resets by the peer. */
  peerResetToken: Buffer | undefined;
  abandoned = false;
  closeReason: CloseReason | undefined;
  readonly maxDatagramSize = 1200;

  constructor(options: ClientOptions | ServerOptions, role: 'client' | 'server') {
    this.options = options;
    this.role = role;
    this.remote = copyEndpoint(options.remote);
    const { id, resetToken } = options.ids.issue();
    this.id = id;
    this.resetToken = resetToken;
  }

  receive(buffer: Uint8Array, offset: number, length: number): void {
    this.received.push(Buffer.from(buffer.subarray(offset, offset + length)));
  }

  receiveBatch(buffer: Uint8Array, offset: number, length: number, stride: number): void {
    const end = offset + length;
    for (let at = offset; at < end; at += stride) {
      this.receive(buffer, at, Math.min(stride, end - at));
    }
  }

  isStatelessReset(buffer: Uint8Array, offset: number, length: number): boolean {
    const token = buffer.subarray(offset + length - 16, offset + length);
    return this.peerResetToken?.equals(token) === true;
  }

  transmit(_now: number, out: TransmitBatch): boolean {
    const batch = this.toSend.shift();
    if (!batch) return false;
    out.begin(this.remote, undefined);
    out.buffer.fill(this.id[0] as number, 0, batch.bytes);
    out.length = batch.bytes;
    out.segmentSize = batch.segmentSize;
    return true;
  }

  nextTimeout(): number {
    return this.deadline;
  }

  onTimeout(now: number): void {
    this.timeouts.push(now);
    this.deadline = Infinity;
  }

  nextDatagram(): Uint8Array | undefined {
    return this.datagrams.shift();
  }

  nextEvent(): ConnectionEvent | undefined {
    return this.events.shift();
  }

  onTooLarge(bytes: number): void {
    this.tooLarge.push(bytes);
  }

  abandon(): void {
    this.abandoned = true;
    this.end({ kind: 'idle', by: 'self', code: 0, reason: '' });
    this.events.push({ kind: 'drained' });
  }

  /** Reports the end. */
  end(reason: CloseReason): void {
    if (this.closeReason) return;
    this.closeReason = reason;
    this.events.push({ kind: 'closed', reason });
  }

  close(code: number, reason: string): void {
    this.closes.push({ code, reason });
    this.toSend.push({ bytes: 50, segmentSize: 0 });
    this.end({ kind: 'application', by: 'self', code, reason });
  }

  closeTransport(code: number, reason: string): void {
    this.close(code, reason);
  }

  openStream(): number | undefined {
    return undefined;
  }

  write(): boolean | undefined {
    return undefined;
  }

  undelivered(): number {
    return 0;
  }

  queued(): number {
    return 0;
  }

  finish(): void {}

  reset(): void {}

  read(): undefined {
    return undefined;
  }

  stopSending(): void {}

  sendDatagram(): boolean {
    return false;
  }

  authenticated(): void {}

  allowStreams(): void {}

  useController(): void {}

  statistics(): ConnectionStatistics {
    return {
      bytesSent: 0,
      bytesReceived: 0,
      datagramsSent: 0,
      datagramsReceived: 0,
      packetsSent: 0,
      packetsReceived: 0,
      packetsLost: 0,
      packetsDropped: 0,
      inFlight: 0,
      window: 0,
      pacingRate: 0,
      smoothedRtt: 0,
      minimumRtt: 0,
      datagramSize: 1200,
    };
  }
}

/** Makes scripted connections and keeps them. */
export class ScriptedCores {
  readonly clients: ScriptedCore[] = [];
  readonly servers: ScriptedCore[] = [];
  /** Called for each client that gets a connection. */
  onServer: (() => void) | undefined;

  client(options: ClientOptions): ScriptedCore {
    const core = new ScriptedCore(options, 'client');
    this.clients.push(core);
    return core;
  }

  server(options: ServerOptions): ScriptedCore {
    const core = new ScriptedCore(options, 'server');
    this.servers.push(core);
    this.onServer?.();
    return core;
  }
}
