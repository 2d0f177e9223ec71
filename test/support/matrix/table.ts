import type { Protocol } from '../ways/way.ts';
import type { ProgramName } from '../ways/program.ts';
import { PROGRAMS } from '../ways/programs.ts';
import { wayTitle } from '../ways/way.ts';
import { COLUMNS, type Column } from './cell.ts';
import type { Result } from './result.ts';
import { ROWS } from './rows.ts';

/** The results of a run as Markdown, one table for each protocol with its notes below it. */
export function tables(results: readonly Result[]): string {
  const protocols = Object.keys(ROWS) as Protocol[];
  return protocols
    .filter((protocol) => results.some((result) => result.protocol === protocol))
    .map((protocol) =>
      table(
        protocol,
        results.filter((result) => result.protocol === protocol),
        usualSize(results),
      ),
    )
    .join('\n');
}

const CELLS: Readonly<Record<Result['outcome'], string>> = {
  TCP: 'TCP',
  'TCP UDP': 'TCP UDP',
  failed: 'FAILED',
  'not run': 'not run',
  impossible: '–',
};

function table(protocol: Protocol, results: readonly Result[], usual: number): string {
  // Programs without the protocol would have a column of nothing but that note.
  const columns = COLUMNS.filter((column) =>
    results.some((result) => isIn(column, result) && result.outcome !== 'impossible'),
  );
  const notes: string[] = [];
  const numberOf = (note: string): number => {
    if (!notes.includes(note)) notes.push(note);
    return notes.indexOf(note) + 1;
  };
  const cell = (row: string, column: Column): string => {
    const result = results.findLast((one) => one.row === row && isIn(column, one));
    if (result === undefined) return '';
    const { outcome, megabytes } = result;
    const isOther = isFilled(result) && megabytes !== usual;
    const all = isOther ? [...result.notes, `with bodies of ${megabytes} MB`] : result.notes;
    const marks = all.map(numberOf).join(', ');
    return marks === '' ? CELLS[outcome] : `${CELLS[outcome]} (${marks})`;
  };
  const rows = ROWS[protocol]
    .map(wayTitle)
    .filter((row) => results.some((result) => result.row === row));
  const lines = [
    ['', ...columns.map(columnTitle)],
    ['---', ...columns.map(() => '---')],
    ...rows.map((row) => [row, ...columns.map((column) => cell(row, column))]),
  ].map((cells) => `| ${cells.join(' | ')} |`);
  const list = notes.map((note, i) => `${i + 1}. ${note}`);
  return [`### ${protocol}`, '', ...lines, '', ...list, ''].join('\n');
}

const isIn = (a: Column, b: Column): boolean => a.client === b.client && a.server === b.server;

const columnTitle = ({ client, server }: Column): string => `${TITLES[client]} → ${TITLES[server]}`;

const TITLES: Readonly<Record<ProgramName, string>> = {
  weir: 'Weir',
  v2ray: 'v2ray',
  xray: 'Xray',
  'sing-box': 'sing-box',
  trojan: 'trojan',
  'ss-libev': 'shadowsocks-libev',
  'ss-rust': 'shadowsocks-rust',
  hysteria: 'hysteria',
};

/** The versions of the programs, as they report them, and the load of each cell. */
export function circumstances(results: readonly Result[]): string {
  const found = Object.values(PROGRAMS).flatMap((program) => {
    const number = program.version();
    return number === undefined ? [] : [`${TITLES[program.name]} ${number}`];
  });
  return `Run with ${found.join(', ')}; bodies of ${usualSize(results)} MB each way.`;
}

const isFilled = ({ outcome }: Result): boolean => outcome === 'TCP' || outcome === 'TCP UDP';

/** The size of most bodies, in megabytes; the few others are marked. */
function usualSize(results: readonly Result[]): number {
  const sizes = results.filter(isFilled).map(({ megabytes }) => megabytes);
  const count = (size: number): number => sizes.filter((one) => one === size).length;
  return sizes.sort((a, b) => count(b) - count(a))[0] ?? 0;
}
