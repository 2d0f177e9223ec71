import { TurnShare } from '../time/turn-share.ts';

/**
 * Steps of ending flows in one turn of the event loop, of all flows of the process: closing both links of one and
 * its record takes some hundredths of a millisecond, and thousands end at once with a carrier, a device or by a
 * command.
 */
export const FLOWS_ENDED_A_TURN = 64;

const share = new TurnShare(FLOWS_ENDED_A_TURN);

/** Takes the turn to end a flow; a promise for a later one when this turn has ended its share. */
export const turnToEnd = (): Promise<void> | undefined => share.take();

/**
 * Ends what a carrier, a device or a command has held together: the first ones before this returns, the rest in
 * later turns of the event loop. Those that have ended by themselves meanwhile are passed to `end` as well.
 *
 * @returns a promise that resolves when all have been passed; it rejects with what `end` has first thrown, after
 *   the others.
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
