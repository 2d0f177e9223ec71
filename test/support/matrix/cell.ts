import { without } from '../programs/peers.ts';
import type { Lack } from '../ways/lack.ts';
import type { Program, ProgramName } from '../ways/program.ts';
import { PROGRAMS } from '../ways/programs.ts';
import { wayTitle, type Way } from '../ways/way.ts';

/** One cell of the matrix: a way, and the programs at its ends. */
export interface Cell {
  readonly way: Way;
  readonly client: Program;
  readonly server: Program;
}

/** A column: Weir at one end and any program at the other. */
export interface Column {
  readonly client: ProgramName;
  readonly server: ProgramName;
}

export const COLUMNS: readonly Column[] = (Object.keys(PROGRAMS) as ProgramName[]).flatMap(
  (name): Column[] =>
    name === 'weir'
      ? [{ client: 'weir', server: 'weir' }]
      : [
          { client: 'weir', server: name },
          { client: name, server: 'weir' },
        ],
);

export const cellAt = (way: Way, { client, server }: Column): Cell => ({
  way,
  client: PROGRAMS[client],
  server: PROGRAMS[server],
});

export const cellTitle = ({ way, client, server }: Cell): string =>
  `${wayTitle(way)}, ${client.name} to ${server.name}`;

/** Why this cell cannot be filled; `undefined` when it can. */
export const impossible = ({ way, client, server }: Cell): string | undefined =>
  client.unable(way, 'client') ?? server.unable(way, 'server');

/** Why it cannot be filled on this machine, as a test's `skip` takes it. */
export const missing = ({ client, server }: Cell): string | false =>
  without(...client.needs.client, ...server.needs.server);

/** What this cell cannot be asked for because one of its ends does not do it. */
export const lacksOf = ({ way, client, server }: Cell): readonly Lack[] => [
  ...new Set([...client.lacks(way, 'client'), ...server.lacks(way, 'server')]),
];
