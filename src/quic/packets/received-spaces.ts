import { MAX_ACK_DELAY } from '../limits.ts';
import { AckSchedule } from '../recovery/ack-schedule.ts';
import { SPACES, type Space } from '../recovery/space.ts';

/** What was received in each packet number space, and when it is acknowledged, until its keys are gone. */
export class ReceivedSpaces {
  readonly #schedules: (AckSchedule | undefined)[] = SPACES.map(
    (space) => new AckSchedule(space, MAX_ACK_DELAY),
  );

  /** `undefined` once the space was discarded. */
  of(space: Space): AckSchedule | undefined {
    return this.#schedules[space];
  }

  discard(space: Space): void {
    this.#schedules[space] = undefined;
  }
}
