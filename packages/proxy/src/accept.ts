/** Listeners, and clients before they have authenticated. */
export { type Listener, listenTcp } from './transports/listeners/tcp-listener.ts';
export { type DatagramListener, listenUdp } from './transports/listeners/udp-listener.ts';
export { ClientPlace, UnauthenticatedClients } from './transports/unauthenticated-clients.ts';
