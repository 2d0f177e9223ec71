import { Shares } from './shares.ts';

/** Stages of an association. A flood of single datagrams stays at the first one. */
export const Stage = {
  /** No response has arrived. */
  unanswered: 0,
  /** A response has arrived. */
  answered: 1,
  /** The client has sent more after a response: a conversation, not one query. */
  lasting: 2,
} as const;
export type Stage = (typeof Stage)[keyof typeof Stage];

/** Milliseconds without a datagram after which an `answered` association may be replaced. */
const ANSWERED_IDLE_MS = 1_000;
/**
 * Milliseconds without a datagram after which a `lasting` association may be replaced; programs keep those open by a
 * datagram every 15 to 25 seconds.
 */
const LASTING_IDLE_MS = 30_000;
/** Associations that are examined in search of an idle one. */
const LOOKS = 8;

/** An association in an `AssociationOrder`, which alone sets `stage`. */
export interface Ordered {
  stage: Stage;
  /** Time at which the association last carried a datagram, in milliseconds. */
  readonly activeAt: number;
}

/**
 * Associations that share a limited resource, flows of a device or descriptors, and the order in which they are
 * replaced when it is exhausted. One program can send a datagram from each of its ports, and each creates an
 * association; that must not end associations in use, even where all programs have one address. So unanswered ones are
 * replaced first, then idle ones that were answered once, then idle lasting ones; in each stage the oldest one of the
 * client that has the most.
 *
 * @typeParam Client a primitive value.
 */
export class AssociationOrder<Item extends Ordered, Client> {
  readonly #stages: Readonly<Record<Stage, Shares<Item, Client>>> = {
    [Stage.unanswered]: new Shares(),
    [Stage.answered]: new Shares(),
    [Stage.lasting]: new Shares(),
  };

  get size(): number {
    const [unanswered, answered, lasting] = [this.#stages[0], this.#stages[1], this.#stages[2]];
    return unanswered.size + answered.size + lasting.size;
  }

  /** Adds an association, which must not be in an order already. */
  add(item: Item, client: Client): void {
    this.#stages[item.stage].add(item, client);
  }

  /** Records a response to an association's client. Only at the stage `unanswered`. */
  answered(item: Item): void {
    this.#move(item, Stage.answered);
  }

  /** Records a datagram of the client after a response. Only at the stage `answered`. */
  lasts(item: Item): void {
    this.#move(item, Stage.lasting);
  }

  /** Removes an association. Idempotent. */
  delete(item: Item): void {
    this.#stages[item.stage].delete(item);
  }

  /**
   * Returns the association to replace with a new one; the caller ends it. `undefined` when all others have precedence
   * over the new one, which has a single datagram so far.
   *
   * @param client the client of the new association. A client that has far more than others replaces only its own.
   */
  victim(client: Client, now: number): Item | undefined {
    const unanswered = this.#stages[Stage.unanswered].heaviest;
    if (unanswered && this.#mayTake(unanswered.holder, client)) return unanswered.oldest;
    return (
      this.#idle(this.#stages[Stage.answered], client, ANSWERED_IDLE_MS, now) ??
      this.#idle(this.#stages[Stage.lasting], client, LASTING_IDLE_MS, now)
    );
  }

  #countOf(client: Client): number {
    const [unanswered, answered, lasting] = [this.#stages[0], this.#stages[1], this.#stages[2]];
    return unanswered.countOf(client) + answered.countOf(client) + lasting.countOf(client);
  }

  /** Whether a client may replace an association of another: not with more than twice as many. */
  #mayTake(from: Client, client: Client): boolean {
    return from === client || this.#countOf(client) <= 2 * this.#countOf(from);
  }

  #idle(shares: Shares<Item, Client>, client: Client, idle: number, now: number): Item | undefined {
    for (let look = 0; look < LOOKS; look++) {
      const { heaviest } = shares;
      if (heaviest === undefined || !this.#mayTake(heaviest.holder, client)) return undefined;
      const { holder, oldest } = heaviest;
      const isFarHeavier = this.#countOf(holder) > 2 * (this.#countOf(client) + 1);
      if (now - oldest.activeAt >= idle || isFarHeavier) return oldest;
      shares.renew(oldest);
    }
    return undefined;
  }

  #move(item: Item, stage: Stage): void {
    const client = this.#stages[item.stage].delete(item);
    item.stage = stage;
    if (client !== undefined) this.#stages[stage].add(item, client);
  }
}
