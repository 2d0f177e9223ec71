import { setImmediate as nextTurn } from 'node:timers/promises';

/** Lets what is under way take its turns of the event loop, without time passing. */
export async function settle(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
}
