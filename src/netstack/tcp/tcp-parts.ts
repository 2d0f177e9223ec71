import type { SharedMemory } from './buffer-limits.ts';
import type { EventFlags } from './events.ts';
import type { PeerProbes } from './lifecycle/peer-probes.ts';
import type { StateMachine } from './lifecycle/state-machine.ts';
import type { SynRetransmission } from './lifecycle/syn-retransmission.ts';
import type { PendingReset } from './pending-reset.ts';
import type { DelayedAcks } from './receive/delayed-acks.ts';
import type { RejectedSegments } from './segment-arrives/rejected-segments.ts';
import type { Tcb } from './tcb.ts';

/**
 * The parts of one connection. Code that handles or writes segments refers to this record instead of to each part:
 * separate references took about 200 bytes more per connection.
 */
export interface TcpParts {
  readonly tcb: Tcb;
  readonly machine: StateMachine;
  readonly syn: SynRetransmission;
  readonly probes: PeerProbes;
  readonly acks: DelayedAcks;
  readonly reset: PendingReset;
  readonly events: EventFlags;
  readonly rejected: RejectedSegments;
  readonly memory: SharedMemory;
}
