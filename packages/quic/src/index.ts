/** A QUIC connection, and the endpoint that runs many on one socket. */
export {
  type ClientOptions,
  type CommonOptions,
  type ConnectionSettings,
  DEFAULT_SETTINGS,
  type IdIssuer,
  type RegisteredId,
  type ServerOptions,
} from './connection/connection-options.ts';
export { QuicCore } from './connection/quic-core.ts';
export type {
  ClientTls,
  CloseReason,
  QuicConnection,
  QuicHandlers,
  QuicStream,
  Role,
  SecretDirection,
  ServerTls,
  StreamFailure,
  TlsEvents,
  TlsHandshake,
  TlsLevel,
} from './contract.ts';
export {
  type DialSettings,
  type EndpointOptions,
  QuicEndpoint,
  type ServerSettings,
} from './endpoint/endpoint.ts';
export type { PacketObfuscation } from './endpoint/driver.ts';
export { ConnectionEndedError, StreamFailedError } from './errors.ts';
export { ResetTokens } from './protection/tokens.ts';
export type { StreamGrants } from './streams/grants.ts';
export type { ConnectionStatistics, QuicTrace, TraceEvent } from './trace.ts';
