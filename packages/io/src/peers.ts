/** Who is at the other end of a local socket, by the tables of the kernel. */
export { isAmbiguousUser, mayReadByGroup, peerOwners } from './platform/process/peer-owners.ts';
export { boundSockets, TCP_STATES } from './platform/process/socket-table.ts';
