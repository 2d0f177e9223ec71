/** Listeners, and clients before they have authenticated. */
export { type Listener, listenTcp } from './transports/listeners/listen.ts';
export { DatagramPort } from './transports/listeners/listen.ts';
export { ClientPlace, UnauthenticatedClients } from './transports/unauthenticated-clients.ts';
