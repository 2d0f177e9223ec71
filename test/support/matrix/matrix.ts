import test, { after, before } from 'node:test';
import { wayTitle, type Protocol } from '../ways/way.ts';
import { cellAt, cellTitle, COLUMNS, impossible, lacksOf, missing, type Cell } from './cell.ts';
import { chooseCells, possibleCells } from './chosen.ts';
import { bodySize, fill } from './fill.ts';
import { keep, type Result } from './result.ts';
import { ROWS } from './rows.ts';
import { SharedWeirs } from './shared-weirs.ts';

/** Tests the cells of a protocol that are chosen: from Weir to Weir, and both ways with other programs. */
export function matrix(protocol: Protocol): void {
  const cells = chooseCells().chosen.filter(({ way }) => way.protocol === protocol);
  keepImpossible(protocol);
  skipMissing(protocol);
  let weirs: SharedWeirs | undefined;
  before(async () => {
    weirs = await SharedWeirs.start(cells);
  });
  after(() => weirs?.[Symbol.asyncDispose]());
  for (const cell of cells) {
    test(cellTitle(cell), async (t) => {
      if (!weirs) throw new Error('Weir did not start');
      const outcome = await fill(t, cell, weirs);
      keep({ ...resultOf(cell), outcome, notes: lacksOf(cell).map(({ note }) => note) });
    });
  }
}

/** For the table: which cells nothing can fill, and why. */
function keepImpossible(protocol: Protocol): void {
  for (const way of ROWS[protocol]) {
    for (const cell of COLUMNS.map((column) => cellAt(way, column))) {
      const why = impossible(cell);
      if (why !== undefined) keep({ ...resultOf(cell), outcome: 'impossible', notes: [why] });
    }
  }
}

/** A skipped test for each reason why cells cannot be filled on this machine. */
function skipMissing(protocol: Protocol): void {
  const reasons = new Map<string, number>();
  for (const cell of possibleCells()) {
    const skip = missing(cell);
    if (cell.way.protocol !== protocol || skip === false) continue;
    keep({ ...resultOf(cell), outcome: 'not run', notes: [skip] });
    reasons.set(skip, (reasons.get(skip) ?? 0) + 1);
  }
  for (const [skip, count] of reasons) test(`${count} cells`, { skip }, () => undefined);
}

const resultOf = (cell: Cell): Omit<Result, 'outcome' | 'notes'> => ({
  client: cell.client.name,
  server: cell.server.name,
  protocol: cell.way.protocol,
  row: wayTitle(cell.way),
  megabytes: bodySize(cell) >> 20,
});
