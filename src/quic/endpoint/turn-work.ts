import {
  FREE_FRAMES_A_PACKET,
  MAX_WORK_A_TURN,
  PRESSED_WORK_A_TURN,
  UNAUTHENTICATED_WORK_A_TURN,
  WORK_OF_ALL_A_TURN,
} from '../limits.ts';

/** What all connections of an endpoint have worked in the present turn of the event loop. */
export interface SharedWork {
  /** Frames beyond those that every packet may have. */
  frames: number;
}

/**
 * The work that one peer makes in a turn of the event loop. Bytes do not tell it: a packet holds a frame or
 * hundreds, and each has its price. A peer that exceeds its share has its packets dropped until the next
 * turn, as if they were lost (RFC 9000 §21.9); one that sends as others do never meets it.
 */
export class TurnWork {
  readonly #shared: SharedWork;
  #frames = 0;
  #share: number;

  /** @param isPeerKnown whether the peer need not authenticate itself. */
  constructor(shared: SharedWork, isPeerKnown: boolean) {
    this.#shared = shared;
    this.#share = isPeerKnown ? MAX_WORK_A_TURN : UNAUTHENTICATED_WORK_A_TURN;
  }

  /** Whether no further packet is to be read in this turn. */
  get isExceeded(): boolean {
    if (this.#frames === 0) return false;
    if (this.#frames >= this.#share) return true;
    return this.#shared.frames >= WORK_OF_ALL_A_TURN && this.#frames >= PRESSED_WORK_A_TURN;
  }

  /** A packet was read. @param frames that it held. */
  add(frames: number): void {
    if (frames <= FREE_FRAMES_A_PACKET) return;
    this.#frames += frames - FREE_FRAMES_A_PACKET;
    this.#shared.frames += frames - FREE_FRAMES_A_PACKET;
  }

  /** The connection has its turn. */
  restart(): void {
    this.#frames = 0;
  }

  /** The peer has authenticated itself. */
  onAuthenticated(): void {
    this.#share = MAX_WORK_A_TURN;
  }
}
