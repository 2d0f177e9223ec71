import type { Clock } from './time/clock.ts';

/**
 * A step that a dial has completed. A dial has only the steps of its protocol and carrier, in this order:
 *
 * - `resolved`: the addresses of the name that is dialled are known, or it is an address
 * - `connected`: TCP, to the server; for a direct dial, to the destination
 * - `secured`: the handshake of TLS or QUIC
 * - `carried`: the upgrade to WebSocket, the HTTP/2 connection of gRPC, the authentication of Hysteria 2. Missing
 *   for a WebSocket with early data, whose upgrade waits for the first write.
 * - `reused`: an existing connection or tunnel, instead of a new one
 */
export type DialStep = Exclude<TimedStep, 'opened'>;

/** Called when a dial has completed a step. It must not throw. */
export type DialObserver = (step: DialStep) => void;

/** Milliseconds from the start of a dial to each step; `opened`: the outbound has returned the link. */
export type DialTimes = Readonly<Partial<Record<TimedStep, number>>>;

const TIMED_STEPS = ['resolved', 'connected', 'secured', 'carried', 'reused', 'opened'] as const;
type TimedStep = (typeof TIMED_STEPS)[number];

/** Returns the times in parsed JSON; other properties are ignored. */
export function toDialTimes(parsed: unknown): DialTimes {
  if (typeof parsed !== 'object' || parsed === null) return {};
  const values = parsed as Partial<Record<TimedStep, unknown>>;
  const times: Partial<Record<TimedStep, number>> = {};
  for (const step of TIMED_STEPS) {
    const value = values[step];
    if (typeof value === 'number' && value >= 0) times[step] = value;
  }
  return times;
}

/**
 * Progress of a dial with the outbound's own server: tells failures of the server from those that the server reports
 * about the destination.
 */
export class ServerReach {
  #state: 'untried' | 'trying' | 'reached' = 'untried';

  get isUntried(): boolean {
    return this.#state === 'untried';
  }

  /** Whether the server was tried and has not been reached. */
  get isMissed(): boolean {
    return this.#state === 'trying';
  }

  /** Whether the server has received the request, or can be sent it. */
  get isReached(): boolean {
    return this.#state === 'reached';
  }

  /** Called before the server is tried, and again when its response is a failure of the server itself. */
  trying(): void {
    this.#state = 'trying';
  }

  reached(): void {
    this.#state = 'reached';
  }
}

/** Measures one dial. */
export class DialTimer {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #times: Partial<Record<TimedStep, number>> = {};

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** Only the first time of a step counts: silent servers are dialled several times in parallel. */
  readonly observe = (step: TimedStep): void => {
    this.#times[step] ??= this.#clock.now() - this.#startedAt;
  };

  /** The times of the steps so far. */
  get times(): DialTimes {
    return { ...this.#times };
  }
}

/**
 * The sink to which a protocol core reports its events: packets sent, packets dropped with the reason, states entered.
 * `Event` is a union discriminated by `kind`, so that a test can assert on events and a log writer can handle all of
 * them. `now` is the time of the call that caused the event, in milliseconds.
 *
 * A core holds an optional sink and builds an event only when there is one: `this.#trace?.({ kind: 'dropped', reason },
 * now)`. Without a sink that costs one comparison.
 */
export type TraceSink<Event extends { readonly kind: string }> = (
  event: Event,
  now: number,
) => void;
