/** Routes, rules and addresses of the kernel. */
export {
  type MachineLink,
  type MachineNetwork,
  type MachineRoute,
  type MachineRule,
  readMachineNetwork,
} from './platform/netlink/machine-network.ts';
export { NetlinkSocket } from './platform/netlink/netlink-socket.ts';
export { RT_TABLE_DEFAULT, RT_TABLE_MAIN } from './platform/netlink/route-messages.ts';
export {
  boundSockets,
  isAmbiguousUser,
  mayReadByGroup,
  peerOwners,
  TCP_STATES,
} from './platform/process/peer-owners.ts';
