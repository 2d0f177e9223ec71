import type { GeositeRef } from '../../spec.ts';
import type { DomainList } from '../router/tables/domain-list.ts';
import type { NetworkList } from '../router/tables/network-list.ts';
import { WeirError } from '@weir/base';

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
