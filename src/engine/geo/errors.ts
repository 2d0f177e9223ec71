import { WeirError } from '../../errors.ts';

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
