/** A TCP/IP stack over a packet device. */
export {
  type AssociationRequest,
  type ConnectionRequest,
  Netstack,
  type RefusalReason,
  type StackSettings,
  type Trace,
} from './netstack.ts';
