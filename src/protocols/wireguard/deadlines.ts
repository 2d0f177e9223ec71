import type { NamedDeadlines } from '../../collections/named-deadlines.ts';

/*
 * The constants of whitepaper §6 under their names, and the deadlines of a tunnel. Times are in
 * milliseconds.
 */

/**
 * Messages after which a session is replaced, and after which it is no longer used. The whitepaper has
 * 2^60 and 2^64 - 2^13 - 1: counters here are safe integers, and no session lasts long enough to send as
 * many messages.
 */
export const REKEY_AFTER_MESSAGES = 2 ** 52;
export const REJECT_AFTER_MESSAGES = 2 ** 53 - 2 ** 13 - 1;
/** Age at which an initiator replaces a session when it sends. */
export const REKEY_AFTER_TIME = 120_000;
/** Age beyond which a session is not used, in either direction. */
export const REJECT_AFTER_TIME = 180_000;
/** Time for which initiations are repeated while packets wait. */
export const REKEY_ATTEMPT_TIME = 90_000;
/** Time between two initiations. */
export const REKEY_TIMEOUT = 5_000;
/** Time within which a received packet is answered, with a keep-alive if nothing else is sent. */
export const KEEPALIVE_TIMEOUT = 10_000;

/** Bound of the random part of a retry, so that two peers do not stay synchronized (§6.1). */
export const MAX_JITTER = 334;

/** Time without a new session after which all ephemeral and session keys are erased (§6.3). */
export const ERASE_AFTER_TIME = 3 * REJECT_AFTER_TIME;

/** Age at which an initiator that only receives replaces a session (§6.2). */
export const REKEY_ON_RECEIPT_TIME = REJECT_AFTER_TIME - KEEPALIVE_TIMEOUT - REKEY_TIMEOUT;

export const TUNNEL_DEADLINES = [
  /** The next initiation of the handshake in progress. */
  'initiation',
  /** A keep-alive, since the peer's packets have had no response (§6.5). */
  'keepalive',
  /** A new handshake, since the peer has not responded to sent packets (§6.5). */
  'silence',
  /** The persistent keep-alive of the configuration, which keeps NAT mappings. */
  'persistent',
  /** The erasure of ephemeral keys and session keys (§6.3). */
  'erase',
] as const;

export type TunnelDeadlines = NamedDeadlines<(typeof TUNNEL_DEADLINES)[number]>;
