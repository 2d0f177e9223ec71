import test from 'node:test';
import { wayTitle, type Way } from '../ways/way.ts';
import { cellAt, COLUMNS, impossible, lacksOf, missing } from './cell.ts';
import { fill, bodySize } from './fill.ts';
import { keep } from './result.ts';

/** Tests every way from Weir to Weir and in both directions with every program that has it. */
export function matrix(ways: readonly Way[]): void {
  for (const way of ways) {
    for (const column of COLUMNS) {
      const cell = cellAt(way, column);
      const why = impossible(cell);
      const megabytes = bodySize(way) >> 20;
      const result = { ...column, protocol: way.protocol, row: wayTitle(way), megabytes };
      if (why !== undefined) {
        keep({ ...result, outcome: 'impossible', notes: [why] });
        continue;
      }
      const title = `${result.row}, ${column.client} to ${column.server}`;
      const skip = missing(cell);
      if (skip !== false) keep({ ...result, outcome: 'not run', notes: [skip] });
      test(title, { skip }, async (t) => {
        const outcome = await fill(t, cell);
        keep({ ...result, outcome, notes: lacksOf(cell).map(({ note }) => note) });
      });
    }
  }
}
