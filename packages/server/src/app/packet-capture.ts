import { rename, type FileHandle } from 'node:fs/promises';
import { messageOf, WeirError } from '@weir/base';
import type { PacketTap } from '@weir/base/ip/packet-device';
import {
  INTERFACE_ROOM,
  PACKET_ROOM,
  putInterface,
  putPacket,
  putSection,
  SECTION_ROOM,
  type PacketDirection,
} from '@weir/base/ip/pcapng';
import type { Logger } from '@weir/base/log';
import type { Clock, Timer } from '@weir/io/time';
import { openRegularFileToWrite } from '@weir/io/files';
import { counted } from '@weir/base/text/amounts';

/** Maximum bytes of one file. The previous file is kept, so that a capture takes twice as much. */
const FILE_BYTES = 32 << 20;
/** Bytes per write, and milliseconds that a packet waits for others. */
const CHUNK_BYTES = 256 << 10;
const WRITTEN_AFTER_MS = 250;
/** Maximum number of chunks that wait for the disk; packets beyond are dropped, and counted in the file. */
const MOST_CHUNKS = 32;
/** Maximum bytes for a packet, which may come with a new section and a new interface. */
const MOST_A_PACKET = SECTION_ROOM + INTERFACE_ROOM + PACKET_ROOM;

/** A file that cannot be written. */
class CaptureError extends WeirError {}

export interface CaptureOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Maximum bytes of one file; 32 MiB by default. */
  readonly fileBytes?: number;
}

interface Chunk {
  readonly bytes: Buffer;
  /** Number of bytes used. */
  length: number;
  /** Whether the chunk starts a new file, after the first one. */
  readonly startsFile: boolean;
}

/**
 * Writes packets to a pcapng file, truncated to their first 2,048 bytes. A full file becomes `PATH.1`, replacing an
 * older one, and a new one begins: the latest packets are kept.
 *
 * Capturing never delays a packet. Packets that arrive faster than the disk can write are dropped, and the next packet
 * in the file records their number. A disk error is logged and ends the capture.
 */
export class PacketCapture {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #fileBytes: number;
  /** Offset from the monotonic clock to Unix time. */
  readonly #offset: number;
  #file: FileHandle | undefined;
  #waiting: Chunk[] = [];
  #chunk: Chunk | undefined;
  #writing: Promise<void> | undefined;
  #isWriting = false;
  #timer: Timer | undefined;
  /** Indexes of interfaces in the current file, by name. */
  #interfaces = new Map<string, number>();
  /** Bytes of the current file, including those that wait. */
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
   * Creates or truncates the file, readable only by its owner.
   * @throws {CaptureError} when it cannot be written, or is not a regular file
   */
  static async open(path: string, options: CaptureOptions): Promise<PacketCapture> {
    const capture = new PacketCapture(path, await openEmpty(path), options);
    capture.#begin(false);
    return capture;
  }

  /** The tap for one device. @param name of its interface in the file */
  tap(name: string): PacketTap {
    return (direction, packet) => this.#add(name, direction, packet);
  }

  /** Writes the remaining packets, and closes the file. Never rejects. */
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

  /** Queues the current chunk for the disk. */
  #seal(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#chunk && this.#chunk.length > 0) this.#waiting.push(this.#chunk);
    this.#chunk = undefined;
    if (!this.#isWriting) this.#writing = this.#write();
  }

  /** Writes all queued chunks. Never rejects. */
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

/** Opens the file without contents. @throws {CaptureError} */
async function openEmpty(path: string): Promise<FileHandle> {
  try {
    const file = await openRegularFileToWrite(path, 0o600);
    try {
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
