import { asError } from '@weir/base';
import { DeadlineError, WriteError } from '../errors.ts';
import { LimitedWrite } from './limited-write.ts';
import { type ByteGate, type ByteLink, OWNED, type SpliceProgress } from './link.ts';
import { type Clock, HALF_CLOSED_IDLE_MS, RESET_DELAY_MS } from '../time/clock.ts';
import { IdleTimer } from '../time/pace.ts';
import { TurnShare } from '../time/turns.ts';

/**
 * Flows of the process that are ended in one turn of the event loop: closing both links of one and
 * its record takes some hundredths of a millisecond, and thousands end at once with a carrier, a device or by a
 * command.
 */
export const FLOWS_ENDED_A_TURN = 64;

const share = new TurnShare(FLOWS_ENDED_A_TURN);

/** Takes a share of this turn to end a flow; returns a promise of a later turn when none is left. */
export const turnToEnd = (): Promise<void> | undefined => share.take();

/**
 * Ends the items of a carrier, a device or a command: the first ones before this returns, the rest in later turns of
 * the event loop. Items that have ended by themselves meanwhile are passed to `end` as well.
 * @returns a promise that resolves when all have been passed; if `end` throws, it rejects with the first error, after
 * the other items.
 */
export async function endInTurns<Item>(
  items: readonly Item[],
  end: (item: Item) => void,
): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) {
    const turn = turnToEnd();
    if (turn) await turn;
    try {
      end(item);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Counts the payload that a relay moves, and may limit it. */
interface PayloadCounter {
  /** The limits of bytes from and to the client; each may appear, change and end during the relay. */
  readonly upGate?: ByteGate | undefined;
  readonly downGate?: ByteGate | undefined;
  addUp(bytes: number): void;
  addDown(bytes: number): void;
}

type RelaySide = 'client' | 'remote';

/** The result of a relay. */
export interface RelayEnd {
  /** The failure that ended the relay; `undefined` after a clean end of both directions. */
  readonly failure: Error | undefined;
  /** The side whose end of stream or failure came first; `undefined` if unknown. */
  readonly first: RelaySide | undefined;
  /** The side whose link has failed; `undefined` if none has, or if unknown. */
  readonly failed: RelaySide | undefined;
}

/**
 * Moves bytes both ways between a client and its destination until both have ended.
 *
 * A half-close of one side is passed on and the other direction continues. After a failure of one side the other side
 * receives the data sent before, and is then reset, so that no peer takes a truncated stream for a complete one. A side
 * that accepts nothing for RESET_DELAY_MS is reset at once, and so are both when their links are destroyed. Never
 * rejects. Both links are destroyed when it resolves; their `closed` may follow.
 *
 * @param firstDown a read of `remote` that is pending, or that has settled and was not used.
 */
export function relay(
  client: ByteLink,
  remote: ByteLink,
  counter: PayloadCounter,
  clock: Clock,
  firstDown?: Promise<Uint8Array | undefined>,
): Promise<RelayEnd> {
  return new Promise((resolve) => {
    new Relay(client, remote, counter, clock, resolve).start(firstDown);
  });
}

/**
 * One relay. Most flows are idle most of the time, so their idle memory counts: no frame of an async function is kept
 * while the kernel moves the bytes, and state that only a half-closed or failed flow needs is created then.
 */
class Relay {
  readonly #client: ByteLink;
  readonly #remote: ByteLink;
  readonly #clock: Clock;
  readonly #over: (end: RelayEnd) => void;
  #failure: Error | undefined;
  #first: RelaySide | undefined;
  #failed: RelaySide | undefined;
  /** The directions from either side. */
  readonly #up: Direction;
  readonly #down: Direction;
  #isOver = false;
  /** Timer that runs while one direction has ended and the other has not, or one side has failed. */
  #idle: IdleTimer | undefined;

  constructor(
    client: ByteLink,
    remote: ByteLink,
    counter: PayloadCounter,
    clock: Clock,
    over: (end: RelayEnd) => void,
  ) {
    this.#client = client;
    this.#remote = remote;
    this.#clock = clock;
    this.#over = over;
    this.#up = new Direction(this, 'client', counter);
    this.#down = new Direction(this, 'remote', counter);
  }

  start(firstDown: Promise<Uint8Array | undefined> | undefined): void {
    const up = this.#move(this.#up, undefined);
    const down = this.#move(this.#down, firstDown);
    // A link can fail without a pending read or write: after its end, or when the flow was killed.
    // A transfer in the kernel fails with either link, so two of them need no further watch.
    if (up === 'spliced' && down === 'spliced') return;
    const watch = (side: RelaySide): void => {
      void this.linkOf(side).closed.then((cause) => {
        if (cause) this.fail(side, cause);
      });
    };
    watch('client');
    watch('remote');
  }

  /** Moves one direction, in the kernel where both links are its sockets, and passes on the end. */
  #move(
    direction: Direction,
    first: Promise<Uint8Array | undefined> | undefined,
  ): 'spliced' | 'copied' {
    const from = this.linkOf(direction.from);
    const to = this.linkOf(direction.to);
    const spliced = first ? undefined : from.spliceTo?.(to, direction);
    (spliced ?? copy(from, to, direction, first)).then(
      () => {
        this.#first ??= direction.from;
        to.closeWrite().then(
          () => this.#ended(direction),
          (error: unknown) => this.#cut(direction, direction.to, error),
        );
      },
      (error: unknown) => {
        if (error instanceof WriteError) this.#cut(direction, direction.to, error.cause);
        else this.#cut(direction, direction.from, error);
      },
    );
    return spliced ? 'spliced' : 'copied';
  }

  linkOf(side: RelaySide): ByteLink {
    return side === 'client' ? this.#client : this.#remote;
  }

  touch(): void {
    this.#idle?.touch();
  }

  /** Called when a direction has ended and its end was passed on. */
  #ended(direction: Direction): void {
    direction.isEnded = true;
    // The end of one direction may be passed on after the other one has failed.
    if (this.#isOver) return;
    if ((this.#up.isEnded && this.#down.isEnded) || this.#failed === direction.from) {
      this.#finish();
      return;
    }
    if (this.#failure) return;
    this.#limit(HALF_CLOSED_IDLE_MS, () => {
      const seconds = HALF_CLOSED_IDLE_MS / 1000;
      this.#failure = new DeadlineError(`half-closed and silent for ${seconds} s`);
      this.#finish();
    });
  }

  /** Called when a direction has ended without an end of stream, since a side has failed. */
  #cut(direction: Direction, side: RelaySide, error: unknown): void {
    direction.isEnded = true;
    this.fail(side, error);
  }

  /** Records the failure of a side: the relay ends once everything received from that side before was passed on. */
  fail(side: RelaySide, error: unknown): void {
    if (this.#isOver) return;
    this.#failure ??= asError(error);
    this.#failed ??= side;
    this.#first ??= side;
    const rest = side === 'client' ? this.#up : this.#down;
    if (this.#failed !== side || rest.isEnded) {
      this.#finish();
      return;
    }
    this.#limit(RESET_DELAY_MS, () => {
      this.#failed = undefined;
      this.#finish();
    });
  }

  #limit(milliseconds: number, onIdle: () => void): void {
    this.#idle?.stop();
    this.#idle = new IdleTimer(this.#clock, milliseconds, onIdle);
    this.#idle.start();
  }

  #finish(): void {
    this.#isOver = true;
    this.#idle?.stop();
    // Spread over turns: the failure of a carrier ends the links of thousands of flows.
    const turn = this.#failure && turnToEnd();
    if (turn) void turn.then(() => this.#close());
    else this.#close();
  }

  #close(): void {
    this.#up.limited?.cancel();
    this.#down.limited?.cancel();
    this.#closeLink('client');
    this.#closeLink('remote');
    this.#over({ failure: this.#failure, first: this.#first, failed: this.#failed });
  }

  #closeLink(side: RelaySide): void {
    const failure = this.#failure;
    const link = this.linkOf(side);
    // Nothing is queued after a clean end.
    if (failure && this.#failed === otherOf(side)) link.resetAfterData(failure);
    else link.destroy(failure);
  }
}

const otherOf = (side: RelaySide): RelaySide => (side === 'client' ? 'remote' : 'client');

/** The transfer from one side to the other. */
class Direction implements SpliceProgress {
  readonly from: RelaySide;
  isEnded = false;
  /** The write that a gate limits. */
  limited: LimitedWrite | undefined;
  readonly #relay: Relay;
  readonly #counter: PayloadCounter;

  constructor(of: Relay, from: RelaySide, counter: PayloadCounter) {
    this.#relay = of;
    this.from = from;
    this.#counter = counter;
  }

  get to(): RelaySide {
    return otherOf(this.from);
  }

  get gate(): ByteGate | undefined {
    return this.from === 'client' ? this.#counter.upGate : this.#counter.downGate;
  }

  touch(): void {
    this.#relay.touch();
  }

  moved(bytes: number): void {
    this.#relay.touch();
    if (this.from === 'client') this.#counter.addUp(bytes);
    else this.#counter.addDown(bytes);
  }

  sourceFailed(error: Error): void {
    this.#relay.fail(this.from, error);
  }
}

/**
 * Reads and writes chunks; back-pressure of `to` stops reading `from`.
 * @throws {WriteError} for a failure of `to`; errors of `from` are passed on unchanged.
 */
async function copy(
  from: ByteLink,
  to: ByteLink,
  direction: Direction,
  first: Promise<Uint8Array | undefined> | undefined,
): Promise<void> {
  for (let pending = first; ; pending = undefined) {
    const chunk = await (pending ?? from.read());
    if (chunk === undefined) return;
    direction.touch();
    const { length } = chunk;
    try {
      if (direction.gate) {
        direction.limited = new LimitedWrite(to, chunk, direction);
        await direction.limited.run();
        direction.limited = undefined;
        direction.touch();
        continue;
      }
      const full = to.write(chunk, OWNED);
      if (full) {
        await full;
        // A flow counts as active until a slow peer has drained the chunk.
        direction.touch();
      }
    } catch (error) {
      throw new WriteError(asError(error));
    }
    direction.moved(length);
  }
}
