/** Finds a running Weir by its control socket. */
export { findServing, needServing } from './client/find-serving.ts';
export { chooseSocket, needSocket, type SocketSearch } from './client/find-socket.ts';
