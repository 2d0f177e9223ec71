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
 *
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
