/** Lists of networks and names in geo files. */
export type { ByteSource } from './engine/geo/geo-data.ts';
export {
  GeoCodeError,
  type GeoData,
  GeoFileError,
  type GeoKind,
  geositeKey,
} from './engine/geo/geo-data.ts';
