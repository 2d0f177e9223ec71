/** TLS of Node for clients, and the reasons of its failures. */
export { NodeClient } from './transports/tls/node-client.ts';
export { tlsReason } from './transports/tls/tls-reason.ts';
