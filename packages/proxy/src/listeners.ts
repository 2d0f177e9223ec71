/** What a bind meets: errors, and unix sockets. */
export { BindError, bindReason, isInUse } from './transports/listeners/bind-error.ts';
export { bindUnixSocket, isStaleSocket } from './transports/listeners/unix-socket.ts';
