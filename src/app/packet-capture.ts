import { constants } from 'node:fs';
import { open, rename, type FileHandle } from 'node:fs/promises';
import { messageOf, WeirError } from '../errors.ts';
import type { PacketTap } from '../ip/tapped-device.ts';
import {
  INTERFACE_ROOM,
  PACKET_ROOM,
  putInterface,
  putPacket,
  putSection,
  SECTION_ROOM,
  type PacketDirection,
} from '../ip/pcapng.ts';
import type { Logger } from '../log/logger.ts';
import type { Clock, Timer } from '../net/time/clock.ts';
import { kindOfOther } from '../platform/regular-file.ts';
import { counted } from '../text/amounts.ts';

/** Bytes of one file. The one before it is kept, so that a capture takes twice as much. */
const FILE_BYTES = 32 << 20;
/** Bytes that are written at a time, and how long a packet waits for others. */
const CHUNK_BYTES = 256 << 10;
const WRITTEN_AFTER_MS = 250;
/** Chunks that wait for the disk: what comes while they do is lost, and counted in the file. */
const MOST_CHUNKS = 32;
/** A packet may come with a new section and a new interface. */
const MOST_A_PACKET = SECTION_ROOM + INTERFACE_ROOM + PACKET_ROOM;

/** A file that cannot be written to. */
class CaptureError extends WeirError {}

export interface CaptureOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** By default 32 MiB. */
  readonly fileBytes?: number;
}

interface Chunk {
  readonly bytes: Buffer;
  /** Bytes of it that are used. */
  length: number;
  /** Whether a new file begins with it, after the first one. */
  readonly startsFile: boolean;
}

/**
 * Writes packets to a pcapng file, of each at most its first 2,048 bytes. A file that is full becomes
 * `PATH.1`, in place of an older one, and a new one begins: the last packets are kept.
 *
 * It never delays a packet. What comes faster than the disk takes it is not written, and the next packet
 * in the file has the number of those. An error of the disk is logged and ends the capture.
 */
export class PacketCapture {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #fileBytes: number;
  /** From the monotonic clock to Unix time. */
  readonly #offset: number;
  #file: FileHandle | undefined;
  #waiting: Chunk[] = [];
  #chunk: Chunk | undefined;
  #writing: Promise<void> | undefined;
  #isWriting = false;
  #timer: Timer | undefined;
  /** Indexes of interfaces in the current file, by their names. */
  #interfaces = new Map<string, number>();
  /** Bytes of the current file, those that wait included. */
  #size = 0;
  #lost = 0;
  #lostInAll = 0;
  #packets = 0;

  private constructor(path: string, file: FileHandle, { clock, log, fileBytes }: CaptureOptions) {
    this.#path = path;
    this.#file = file;
    this.#clock = clock;
    this.#log = log;
    this.#fileBytes = fileBytes ?? FILE_BYTES;
    this.#offset = clock.wall() - clock.now();
  }

  /**
   * Creates or empties the file; only its owner can read it.
   * @throws {CaptureError} when it cannot be written to, or is no regular file
   */
  static async open(path: string, options: CaptureOptions): Promise<PacketCapture> {
    const capture = new PacketCapture(path, await openEmpty(path), options);
    capture.#begin(false);
    return capture;
  }

  /** What sees the packets of one device. @param name of its interface in the file */
  tap(name: string): PacketTap {
    return (direction, packet) => this.#add(name, direction, packet);
  }

  /** Writes what waits, and closes the file. Never rejects. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#seal();
    await this.#writing;
    const file = this.#file;
    this.#file = undefined;
    if (!file) return;
    await file.close().catch(() => undefined);
    const lost = this.#lostInAll > 0 ? `, ${this.#lostInAll} more were lost` : '';
    this.#log.info(`${counted(this.#packets, 'packet')} in ${this.#path}${lost}`);
  }

  #add(name: string, direction: PacketDirection, packet: Uint8Array): void {
    if (!this.#file) return;
    const chunk = this.#room();
    if (!chunk) {
      this.#lost++;
      this.#lostInAll++;
      return;
    }
    let { length } = chunk;
    let index = this.#interfaces.get(name);
    if (index === undefined) {
      index = this.#interfaces.size;
      this.#interfaces.set(name, index);
      length = putInterface(chunk.bytes, length, name);
    }
    const time = this.#offset + this.#clock.now();
    length = putPacket(chunk.bytes, length, index, time, direction, packet, this.#lost);
    this.#size += length - chunk.length;
    chunk.length = length;
    this.#packets++;
    this.#lost = 0;
    this.#timer ??= this.#clock.after(WRITTEN_AFTER_MS, () => this.#seal());
  }

  /** A chunk with room for one packet; `undefined` while the disk is too slow. */
  #room(): Chunk | undefined {
    const chunk = this.#chunk;
    const isFull = this.#size + MOST_A_PACKET > this.#fileBytes;
    if (chunk && !isFull && chunk.length + MOST_A_PACKET <= CHUNK_BYTES) return chunk;
    if (this.#waiting.length >= MOST_CHUNKS) return undefined;
    this.#seal();
    return this.#begin(isFull);
  }

  #begin(startsFile: boolean): Chunk {
    const chunk: Chunk = { bytes: Buffer.allocUnsafe(CHUNK_BYTES), length: 0, startsFile };
    if (startsFile || this.#size === 0) {
      this.#interfaces.clear();
      chunk.length = putSection(chunk.bytes, 0);
      this.#size = chunk.length;
    }
    this.#chunk = chunk;
    return chunk;
  }

  /** Hands the current chunk to the disk. */
  #seal(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#chunk && this.#chunk.length > 0) this.#waiting.push(this.#chunk);
    this.#chunk = undefined;
    if (!this.#isWriting) this.#writing = this.#write();
  }

  /** Writes all that waits. Never rejects. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    try {
      for (let chunk = this.#waiting[0]; chunk && this.#file; chunk = this.#waiting[0]) {
        if (chunk.startsFile) await this.#rotate();
        await this.#file.writeFile(chunk.bytes.subarray(0, chunk.length));
        this.#waiting.shift();
      }
    } catch (error) {
      this.#log.error(`the capture of packets has ended: ${this.#path}: ${messageOf(error)}`);
      const file = this.#file;
      this.#file = undefined;
      this.#waiting = [];
      this.#chunk = undefined;
      await file?.close().catch(() => undefined);
    } finally {
      this.#isWriting = false;
    }
  }

  async #rotate(): Promise<void> {
    await this.#file?.close();
    await rename(this.#path, `${this.#path}.1`);
    this.#file = await openEmpty(this.#path);
  }
}

/** @throws {CaptureError} */
async function openEmpty(path: string): Promise<FileHandle> {
  try {
    // A pipe without a reader fails instead of blocking a thread.
    const file = await open(path, WRITE_WITHOUT_WAITING, 0o600);
    try {
      const kind = kindOfOther(await file.stat());
      if (kind !== undefined) throw new CaptureError('capture', `is a ${kind}, not a regular file`);
      await file.truncate();
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  } catch (error) {
    throw new CaptureError('capture', `cannot write packets to ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

const WRITE_WITHOUT_WAITING =
  constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;
