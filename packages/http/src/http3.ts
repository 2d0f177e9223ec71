/** HTTP/3 as a pure machine. */
export { Http3Client } from './http3/client.ts';
export { Http3ErrorCode } from './http3/errors.ts';
export type { Http3Request, Http3Response, Http3ResponseHead } from './http3/message.ts';
export { Http3Server, type Http3ServerHandlers } from './http3/server.ts';
