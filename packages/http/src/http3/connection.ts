import type { QuicConnection, QuicStream } from '@weir/quic';
import { TRUNCATED, writeVarint } from '@weir/quic/varint';
import { ControlReader, encodeSettings, ownSettings } from './control-stream.ts';
import { connectionError, Http3ErrorCode, type Http3Error } from './errors.ts';
import { frameHead, FrameType, varintFrame, readFirstVarint, StreamType } from './frames.ts';
import { BUFFERED_FIELDS_LIMIT } from '../limits.ts';
import { InstructionReader } from './qpack/instructions.ts';
import { FieldBudget } from './request-stream.ts';

/** A reader of a critical stream. */
interface StreamReader {
  feed(bytes: Uint8Array): Http3Error | undefined;
}

/**
 * The parts of an HTTP/3 connection (RFC 9114) that clients and servers share: the critical streams in
 * both directions, and the end of the connection after a violation by the peer.
 */
export class Http3Connection {
  readonly budget = new FieldBudget(BUFFERED_FIELDS_LIMIT);
  readonly #connection: QuicConnection;
  readonly #role: 'client' | 'server';
  readonly #peerStreams = new Set<number>();
  #control: QuicStream | undefined;
  /** Frames to send once the control stream is open. */
  readonly #waiting: Uint8Array[] = [];
  #mayEndCritical = false;

  constructor(connection: QuicConnection, role: 'client' | 'server') {
    this.#connection = connection;
    this.#role = role;
    void this.#openControl();
    // A client has no use for QPACK streams, and the clients of the reference open none.
    if (role === 'server') {
      void this.#openCritical(StreamType.QPACK_ENCODER);
      void this.#openCritical(StreamType.QPACK_DECODER);
    }
  }

  /**
   * Called when the connection carries another protocol from now on: the peer may then abandon HTTP/3, which ends and
   * stops critical streams (as a client on the Rust crate h3 does).
   */
  release(): void {
    this.#mayEndCritical = true;
  }

  /** Ends the connection because of a violation. */
  fail(error: Http3Error): void {
    this.#connection.close(error.code, error.reason);
  }

  /** Ends the connection or the request, by the scope of the error. */
  failRequest(stream: QuicStream, error: Http3Error): void {
    if (error.scope === 'connection') this.fail(error);
    else abandon(stream, error.code);
  }

  /** Sends GOAWAY (RFC 9114 §5.2). */
  sendGoAway(id: number): void {
    const frame = varintFrame(FrameType.GOAWAY, id);
    if (this.#control === undefined) this.#waiting.push(frame);
    else void send(this.#control, frame);
  }

  /** Reads a unidirectional stream opened by the peer. */
  acceptUnidirectional(stream: QuicStream): void {
    // A stream that fails before its type is known is ignored (§6.2).
    this.#read(stream).catch(() => undefined);
  }

  async #read(stream: QuicStream): Promise<void> {
    const first = await readFirstVarint(stream);
    switch (first.value) {
      case TRUNCATED:
        return;
      case StreamType.CONTROL:
        return this.#readCritical(stream, first.value, first.bytes.subarray(first.size), {
          reader: new ControlReader(this.#role),
          name: 'control',
        });
      case StreamType.QPACK_ENCODER:
        return this.#readCritical(stream, first.value, first.bytes.subarray(first.size), {
          reader: new InstructionReader('encoder'),
          name: 'QPACK encoder',
        });
      case StreamType.QPACK_DECODER:
        return this.#readCritical(stream, first.value, first.bytes.subarray(first.size), {
          reader: new InstructionReader('decoder'),
          name: 'QPACK decoder',
        });
      case StreamType.PUSH:
        return this.fail(
          this.#role === 'server'
            ? connectionError('H3_STREAM_CREATION_ERROR', 'a push stream from a client')
            : connectionError('H3_ID_ERROR', 'a push was not allowed'),
        );
      default:
        // Unknown types, including reserved ones, may be refused at any time (§6.2).
        stream.stopSending(Http3ErrorCode.H3_STREAM_CREATION_ERROR);
    }
  }

  /** Reads a critical stream: only one of each type is allowed, and it must not end (§6.2.1, RFC 9204 §4.2). */
  async #readCritical(
    stream: QuicStream,
    type: number,
    first: Uint8Array,
    { reader, name }: { readonly reader: StreamReader; readonly name: string },
  ): Promise<void> {
    if (this.#peerStreams.has(type)) {
      return this.fail(connectionError('H3_STREAM_CREATION_ERROR', `a second ${name} stream`));
    }
    this.#peerStreams.add(type);
    try {
      for (
        let chunk: Uint8Array | undefined = first;
        chunk !== undefined;
        chunk = await stream.read()
      ) {
        const error = reader.feed(chunk);
        if (error !== undefined) return this.fail(error);
      }
    } catch {
      // A reset counts as an end; after the end of the connection nothing changes.
    }
    this.#failCritical(`the ${name} stream was closed`);
  }

  #failCritical(reason: string): void {
    if (this.#mayEndCritical) return;
    this.fail(connectionError('H3_CLOSED_CRITICAL_STREAM', reason));
  }

  async #openControl(): Promise<void> {
    const settings = encodeSettings(ownSettings(this.#role));
    const control = await this.#openCritical(
      StreamType.CONTROL,
      Buffer.concat([frameHead(FrameType.SETTINGS, settings.length), settings]),
    );
    if (control === undefined) return;
    this.#control = control;
    for (const frame of this.#waiting) void send(control, frame);
  }

  /** Opens a critical stream of this side; `undefined` if the connection ends before. */
  async #openCritical(
    type: number,
    content: Uint8Array = new Uint8Array(0),
  ): Promise<QuicStream | undefined> {
    const head = new Uint8Array(1);
    writeVarint(head, 0, type);
    try {
      const stream = await this.#connection.openStream('unidirectional');
      void send(stream, Buffer.concat([head, content]));
      // The stream ends before the connection only if the peer sends STOP_SENDING, which is forbidden.
      void stream.closed.then(() => this.#failCritical('a critical stream was stopped'));
      return stream;
    } catch {
      return undefined;
    }
  }
}

/** Writes to a stream whose failure is detected elsewhere. Never rejects. */
async function send(stream: QuicStream, bytes: Uint8Array): Promise<void> {
  try {
    await stream.write(bytes);
  } catch {
    // The stream or the connection has ended.
  }
}

/** Ends both directions of a request stream with the same error code. */
export function abandon(stream: QuicStream, code: number): void {
  stream.reset(code);
  stream.stopSending(code);
}
