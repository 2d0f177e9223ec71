/** Lists of networks and names in geo files. */
export type { ByteSource } from './engine/geo/byte-source.ts';
export {
  GeoCodeError,
  type GeoData,
  GeoFileError,
  type GeoKind,
  geositeKey,
} from './engine/geo/geo-data.ts';
