import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * Milliseconds of parsing per turn of the event loop, after which connections wait for the next turn. Work that parsing
 * defers to the end of the turn, such as closing connections, takes about as long again.
 */
const TURN_MS = 5;

/** A connection whose next bytes wait to be parsed. */
interface ParsedConnection {
  /** Makes the parser read the next piece. */
  readonly parsePiece: () => void;
}

/** The clock and scheduler of `ParsingTurns`. */
interface TurnSource {
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly nextTurn: (begin: () => void) => void;
}

const SOURCE: TurnSource = {
  now: () => performance.now(),
  nextTurn: (begin) => void setImmediate(begin),
};

/**
 * Schedules parsing of many connections in turns of the event loop, one piece of each connection at a time. Pieces that
 * do not fit into a turn are deferred to the next one, so that other work runs in between.
 */
export class ParsingTurns {
  readonly #source: TurnSource;
  /** Waiting connections in order of arrival, which a `Set` preserves. */
  readonly #waiting = new Set<ParsedConnection>();
  /** Start of the current turn with parsing; `undefined` between turns. */
  #startedAt: number | undefined;
  #isParsing = false;

  constructor(source: TurnSource = SOURCE) {
    this.#source = source;
  }

  /**
   * Schedules parsing of the next piece: it is parsed before this call returns, or in a later turn. A connection is
   * queued at most once.
   */
  enter(connection: ParsedConnection): void {
    this.#waiting.add(connection);
    // Parsing may enter another connection: the loop in progress then continues with it.
    if (this.#isParsing) return;
    if (this.#startedAt === undefined) this.#begin();
    else if (this.#hasTime(this.#startedAt)) this.#parse(this.#startedAt);
  }

  leave(connection: ParsedConnection): void {
    this.#waiting.delete(connection);
  }

  #begin(): void {
    const startedAt = this.#source.now();
    this.#startedAt = startedAt;
    this.#source.nextTurn(() => {
      this.#startedAt = undefined;
      if (this.#waiting.size > 0) this.#begin();
    });
    this.#parse(startedAt);
  }

  /** Parses pieces until the time of the turn is used up, at least one. */
  #parse(startedAt: number): void {
    this.#isParsing = true;
    try {
      for (const connection of this.#waiting) {
        this.#waiting.delete(connection);
        connection.parsePiece();
        if (!this.#hasTime(startedAt)) return;
      }
    } finally {
      this.#isParsing = false;
    }
  }

  #hasTime(startedAt: number): boolean {
    return this.#source.now() - startedAt < TURN_MS;
  }
}

/** Maximum number of bytes passed to Node's parser at a time. */
const PIECE_BYTES = 8 << 10;
/** The end of a head, at which a piece ends: few bytes then follow a refused head. */
const BLANK_LINE = '\r\n\r\n';
/** Minimum length of a piece in bytes, from which the end of a head is searched: four of the shortest requests. */
const LEAST_BYTES = 64;

/** The turns shared by all servers of the process. */
const turns = new ParsingTurns();

/**
 * A connection for Node's HTTP server that limits its parsing per turn. By itself, the server parses all data of a read
 * before anything else runs: thousands of requests in 64 KB, and as many of every other client. This socket passes on
 * one head at a time, within turns that all connections share.
 */
export class PacedSocket extends Duplex {
  readonly #socket: Socket;
  /** Data that was read but not parsed; while there is any, the socket is paused. */
  #unread: Buffer | undefined;
  /** Whether the server accepts more data. */
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

  /** Implements `net.Socket.setTimeout`: the 'timeout' event is emitted after this many milliseconds without a byte. */
  setTimeout(milliseconds: number): this {
    this.#socket.setTimeout(milliseconds);
    return this;
  }

  /** Ends the socket, and destroys it once all data is sent. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  /** Discards all data that the server has not received yet, including later data. */
  ignoreInput(): void {
    if (this.#isIgnoring) return;
    this.#isIgnoring = true;
    turns.leave(this);
    this.#unread = undefined;
    this.#continue();
  }

  /** Passes the next piece to the parser; called by `ParsingTurns`. */
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
    // Data pushed before this call returns is only buffered, and the whole buffer is then parsed at once.
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

  /** Resumes reading after all data was parsed. */
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
 * Makes a server of Node's parse its connections in pieces.
 * @param event the event of new connections: 'secureConnection' for a server with TLS
 * @param accept called with each connection before the server receives it
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
