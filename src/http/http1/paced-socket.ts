import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { ParsingTurns } from './parsing-turns.ts';

/** Bytes that Node's parser gets at a time, at most. */
const PIECE_BYTES = 8 << 10;
/** The end of a head, where a piece ends: one that the server refuses is followed by few. */
const BLANK_LINE = '\r\n\r\n';
/** Bytes of a piece before that is looked for: four of the shortest requests. */
const LEAST_BYTES = 64;

/** Shared by all servers of the process. */
const turns = new ParsingTurns();

/**
 * A connection as Node's HTTP server takes it. Left alone, the server parses all that a read brings before anything
 * else runs: thousands of requests in 64 KB, and as many of every other client. Here it gets one head after the
 * other, within turns that all connections share.
 */
export class PacedSocket extends Duplex {
  readonly #socket: Socket;
  /** What is read and not yet parsed; then the socket is paused. */
  #unread: Buffer | undefined;
  /** Whether the server takes more. */
  #isWanted = false;
  #isIgnoring = false;
  #hasEnded = false;

  constructor(socket: Socket) {
    // The server decides when it ends its side.
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket
      .on('data', (chunk: Buffer) => this.#receive(chunk))
      .on('end', () => {
        this.#hasEnded = true;
        if (!this.#unread) this.push(null);
      })
      .on('timeout', () => this.emit('timeout'))
      .on('error', (error) => this.destroy(error))
      .on('close', () => this.destroy());
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort;
  }

  /** As that of `net.Socket`: the 'timeout' event follows so many milliseconds without a byte. */
  setTimeout(milliseconds: number): this {
    this.#socket.setTimeout(milliseconds);
    return this;
  }

  /** Ends, and is destroyed once all is sent. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  /** Discards what the server has not got yet, and all that follows. */
  ignoreInput(): void {
    if (this.#isIgnoring) return;
    this.#isIgnoring = true;
    turns.leave(this);
    this.#unread = undefined;
    this.#continue();
  }

  /** For `ParsingTurns`. */
  parsePiece(): void {
    const unread = this.#unread;
    if (!unread) return;
    const length = pieceLength(unread);
    this.#isWanted = false;
    this.#unread = length < unread.length ? unread.subarray(length) : undefined;
    this.push(unread.subarray(0, length));
    if (!this.#unread) this.#continue();
  }

  override _read(): void {
    this.#isWanted = true;
    // What is pushed before this returns is only put into a buffer, all of which is then parsed at once.
    if (this.#unread) process.nextTick(() => this.#unread && turns.enter(this));
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.cork();
    chunks.forEach(({ chunk }, i) => {
      if (i < chunks.length - 1) this.#socket.write(chunk);
      else this.#socket.write(chunk, done);
    });
    this.#socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    turns.leave(this);
    this.#unread = undefined;
    this.#socket.destroy();
    done(error);
  }

  /** Goes on after all that was read. */
  #continue(): void {
    if (this.destroyed) return;
    if (this.#hasEnded) this.push(null);
    else this.#socket.resume();
  }

  #receive(chunk: Buffer): void {
    if (this.#isIgnoring) return;
    this.#unread = chunk;
    if (this.#isWanted) turns.enter(this);
    if (this.#unread) this.#socket.pause();
  }
}

function pieceLength(unread: Buffer): number {
  const blankLine = unread.subarray(0, PIECE_BYTES).indexOf(BLANK_LINE, LEAST_BYTES, 'latin1');
  return blankLine < 0 ? Math.min(unread.length, PIECE_BYTES) : blankLine + BLANK_LINE.length;
}

/**
 * Has a server of Node's parse its connections in pieces.
 * @param event when connections come: 'secureConnection' for a server with TLS
 * @param accept is called with each connection before the server takes it
 */
export function paceParser(
  server: Server,
  event: 'connection' | 'secureConnection',
  accept?: (socket: PacedSocket) => void,
): void {
  const serve = server.listeners(event);
  server.removeAllListeners(event);
  server.on(event, (socket: Socket) => {
    const paced = new PacedSocket(socket);
    accept?.(paced);
    for (const listener of serve) Reflect.apply(listener, server, [paced]);
  });
}
