/** HTTP/2 as a pure machine, and its driver. */
export { type ConnectionOptions, Http2Connection } from './http2/connection.ts';
export { Http2Error, Http2ErrorCode, http2ErrorName } from './http2/errors.ts';
export { type DrivenOptions, type DriverHandler, Http2Driver } from './http2/http2-driver.ts';
export type { Http2Settings } from './http2/settings.ts';
export {
  type ConnectionHandler,
  Http2Stream,
  type StreamEnd,
  type StreamHandler,
} from './http2/stream.ts';
