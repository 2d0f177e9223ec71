import {
  FREE_FRAMES_A_PACKET,
  MAX_WORK_A_TURN,
  PRESSED_WORK_A_TURN,
  UNAUTHENTICATED_WORK_A_TURN,
  WORK_OF_ALL_A_TURN,
} from '../limits.ts';

/** The work of all connections of an endpoint in the current turn of the event loop. */
export interface SharedWork {
  /** Number of frames beyond `FREE_FRAMES_A_PACKET`. */
  frames: number;
}

/**
 * Bounds the work that one peer causes in a turn of the event loop. Bytes do not measure it: a packet holds
 * one frame or hundreds, each with its cost. The packets of a peer that exceeds its share are dropped until the
 * next turn, as if they were lost (RFC 9000 §21.9); ordinary peers never reach it.
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

  /** Whether no further packet may be read in this turn. */
  get isExceeded(): boolean {
    if (this.#frames === 0) return false;
    if (this.#frames >= this.#share) return true;
    return this.#shared.frames >= WORK_OF_ALL_A_TURN && this.#frames >= PRESSED_WORK_A_TURN;
  }

  /** Counts a packet that was read. @param frames the number of its frames. */
  add(frames: number): void {
    if (frames <= FREE_FRAMES_A_PACKET) return;
    this.#frames += frames - FREE_FRAMES_A_PACKET;
    this.#shared.frames += frames - FREE_FRAMES_A_PACKET;
  }

  /** Grants the peer a new share, once more may be sent. */
  restart(): void {
    this.#frames = 0;
  }

  /** Called when the peer has authenticated itself. */
  onAuthenticated(): void {
    this.#share = MAX_WORK_A_TURN;
  }
}
