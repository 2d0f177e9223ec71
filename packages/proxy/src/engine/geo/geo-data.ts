import type { FileHandle } from 'node:fs/promises';
import { WeirError } from '@weir/base';
import type { GeositeRef } from '../../spec.ts';
import type { DomainList } from '../router/tables/domain-list.ts';
import type { NetworkList } from '../router/tables/network-list.ts';

/** The lists of the geo files that rules use. */
export interface GeoData {
  /** Domain lists by `geositeKey`. */
  readonly geosite: ReadonlyMap<string, DomainList>;
  /** Network lists by code, in lower case. */
  readonly geoip: ReadonlyMap<string, GeoipList>;
}

export interface GeoipList {
  readonly networks: NetworkList;
  /** Whether the list consists of the addresses outside its networks. */
  readonly inverse: boolean;
}

/** Returns the key of a geosite list: `code` or `code@attribute`, in lower case. */
export const geositeKey = ({ code, attribute }: GeositeRef): string =>
  (attribute === undefined ? code : `${code}@${attribute}`).toLowerCase();

/** The error of an unreadable or invalid geo file; errors of `loadGeoData` name the file. */
export class GeoFileError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('geo_file', message, options);
  }
}

/** The error of a rule that names a list that the file does not have. */
export class GeoCodeError extends WeirError {
  constructor(kind: GeoKind, code: string) {
    super('geo_code', `${kind} code not found: ${code}`);
  }
}

export type GeoKind = 'geoip' | 'geosite';

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
