import type { GeositeRef } from '../../spec.ts';
import type { DomainList } from '../router/domain-list.ts';
import type { NetworkList } from '../router/network-list.ts';
import { WeirError } from '../../errors.ts';

/** What rules use of the geo files, and nothing else of them. */
export interface GeoData {
  /** By `geositeKey`. */
  readonly geosite: ReadonlyMap<string, DomainList>;
  /** By code, in lower case. */
  readonly geoip: ReadonlyMap<string, GeoipList>;
}

export interface GeoipList {
  readonly networks: NetworkList;
  /** Whether the file says that the list means the addresses outside its networks. */
  readonly inverse: boolean;
}

/** `code` or `code@attribute`, in lower case. */
export const geositeKey = ({ code, attribute }: GeositeRef): string =>
  (attribute === undefined ? code : `${code}@${attribute}`).toLowerCase();

/** A geo file that cannot be read or is none; the message names it once it passed the loader. */
export class GeoFileError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('geo_file', message, options);
  }
}

/** A list that a rule names and the file does not have. */
export class GeoCodeError extends WeirError {
  constructor(kind: GeoKind, code: string) {
    super('geo_code', `${kind} code not found: ${code}`);
  }
}

export type GeoKind = 'geoip' | 'geosite';
