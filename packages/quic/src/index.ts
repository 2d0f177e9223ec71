/** A QUIC connection, and the endpoint that runs many on one socket. */
export { type ConnectionSettings, DEFAULT_SETTINGS } from './connection/connection-options.ts';
export type {
  ClientTls,
  QuicConnection,
  QuicHandlers,
  QuicStream,
  ServerTls,
  TlsEvents,
  TlsHandshake,
} from './contract.ts';
export { QuicEndpoint } from './endpoint/endpoint.ts';
export { ConnectionEndedError, StreamFailedError } from './errors.ts';
export { ResetTokens } from './protection/tokens.ts';
