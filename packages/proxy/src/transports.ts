/** Dials, and the carriers that a configuration puts on connections. */
export { Acceptor, loadServers, type StreamDeps } from './transports/acceptor.ts';
export { createDialer, loadClients } from './transports/create-dialer.ts';
export { dialTcp } from './transports/dial-tcp.ts';
