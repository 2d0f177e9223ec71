import type { RandomSource } from '@weir/base/random';
import type { IpEndpoint } from '@weir/base/ip';
import type { StaticKeys } from './handshake/noise.ts';
import type { Reserved } from './settings.ts';
import type { TraceSink } from '@weir/io';

/** The output for datagrams. */
export interface TunnelOutput {
  /** The buffer that datagrams are written to; changes with `reserve`. */
  readonly buffer: Uint8Array;
  /** Reserves room for a datagram of at most `bytes`. @returns its offset in `buffer`; -1 when there is no room. */
  reserve(bytes: number): number;
  /** Sends the datagram at the reserved offset. */
  commit(length: number, destination: IpEndpoint): void;
}

/**
 * - `unused`: nothing has been sent
 * - `connecting`: packets wait for a handshake
 * - `established`: there was a session, and no handshake has failed since
 * - `silent`: the peer has not responded for `REKEY_ATTEMPT_TIME`; the next packet without a usable session, or 15 s
 *   without a response to packets, starts another handshake
 * - `closed`: nothing is sent or received any more
 */
export type TunnelState = 'unused' | 'connecting' | 'established' | 'silent' | 'closed';

/** An event of a tunnel. Each is queued once until it is taken. */
export type TunnelEvent =
  | 'established'
  | 'silent'
  /** Initiations have had no response for `RESOLVE_AFTER_TIME`; repeated with each further initiation. */
  | 'unanswered'
  /** There is a new session after packets were unanswered, or were dropped from the queue. */
  | 'restored'
  /** The peer's address has changed. */
  | 'moved';

/** Settings that may change while a tunnel runs. */
export interface TunnelSettings {
  /** Bytes of the largest packet inside the tunnel; padding does not exceed it. */
  readonly mtu: number;
  /** Milliseconds between persistent keep-alives, which keep NAT mappings; 0 for none. */
  readonly keepalive: number;
  readonly reserved: Reserved | undefined;
}

export interface TunnelOptions {
  readonly staticKeys: StaticKeys;
  /** Destination of the first message. */
  readonly endpoint: IpEndpoint;
  readonly settings: TunnelSettings;
  readonly random: RandomSource;
  /** Returns the time as TAI64N, later than all values returned before for these keys. */
  readonly timestamp: () => Uint8Array;
  readonly now: number;
  readonly trace?: Trace | undefined;
}

/** The state of a tunnel, and the events that its owner has not taken yet. */
export class TunnelStatus {
  #state: TunnelState = 'unused';
  readonly #events: TunnelEvent[] = [];

  get state(): TunnelState {
    return this.#state;
  }

  /** Enters a state; `closed` is final. */
  enter(state: TunnelState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    if (state === 'established' || state === 'silent') this.notify(state);
  }

  notify(event: TunnelEvent): void {
    if (!this.#events.includes(event)) this.#events.push(event);
  }

  nextEvent(): TunnelEvent | undefined {
    return this.#events.shift();
  }
}

/** The reason why a datagram was dropped. A drop does not change the tunnel. */
export type DropReason =
  /** The datagram is not a message: its type or its length is unknown. */
  | 'message'
  /** `mac1` is invalid: the message is for another key. */
  | 'mac'
  /** Too many handshake messages; the sender may have got a cookie reply. */
  | 'limit'
  /** No session or handshake has this index. */
  | 'index'
  /** The session is too old. */
  | 'expired'
  /** The counter exceeds the limit of a session. */
  | 'counter'
  /** The message was received before, or is too old to tell. */
  | 'replay'
  /** The message is not authentic. */
  | 'authentication';

/** Events of a tunnel, for tests and diagnostics. */
export type TraceEvent =
  | { readonly kind: 'dropped'; readonly reason: DropReason; readonly bytes: number }
  | {
      readonly kind: 'sent';
      readonly what: 'initiation' | 'response' | 'cookie reply' | 'keepalive';
    }
  | { readonly kind: 'received'; readonly what: 'initiation' | 'response' | 'cookie reply' }
  | { readonly kind: 'session'; readonly role: 'initiator' | 'responder' }
  | { readonly kind: 'erased' };

/** Receives each event and its time in milliseconds. It must not throw. */
export type Trace = TraceSink<TraceEvent>;
