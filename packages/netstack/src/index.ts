/** A TCP/IP stack over a packet device. */
export { type Faults, FaultyDevice } from './faulty-device.ts';
export {
  type AssociationRequest,
  type ConnectionRequest,
  Netstack,
  type NetstackHandlers,
  type NetstackOptions,
  type RefusalReason,
  type StackSettings,
  type Trace,
} from './netstack.ts';
export type { TraceEvent } from './trace.ts';
