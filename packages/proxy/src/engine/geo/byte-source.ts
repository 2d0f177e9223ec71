import type { FileHandle } from 'node:fs/promises';
import { GeoFileError } from './geo-data.ts';

/** Bytes with random access. */
export interface ByteSource {
  readonly size: number;
  /** Reads exactly `length` bytes from a position. @throws {GeoFileError} when the file is shorter. */
  read(position: number, length: number): Promise<Uint8Array>;
}

export function bytesSource(bytes: Uint8Array): ByteSource {
  return {
    size: bytes.length,
    read: (position, length) => Promise.resolve(bytes.subarray(position, position + length)),
  };
}

/** Returns an open file as a byte source. @param size the size of the file in bytes when it was opened */
export function fileSource(file: FileHandle, size: number): ByteSource {
  return {
    size,
    async read(position, length) {
      const buffer = Buffer.allocUnsafe(length);
      let filled = 0;
      while (filled < length) {
        const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
        if (bytesRead === 0) throw new GeoFileError('the file became shorter while it was read');
        filled += bytesRead;
      }
      return buffer;
    },
  };
}
