import type { Row } from './confirm.ts';
import type { Found, Objective } from './search.ts';

/** Which figures the table has of an objective's costliest input. */
const cell = (row: Row, objective: Objective, text: (found: Found) => string): string => {
  const found = row.worst.get(objective);
  return found ? text(found) : '';
};

const story = ({ attack }: Found): string => {
  const [first = '', ...steps] = attack.story;
  const count = steps.length === 0 ? '' : `, ${steps.length} mutations`;
  return `${attack.insideTls ? 'in TLS: ' : ''}${first}${count}`;
};

const kilobytes = (bytes: number): string => (bytes / 1024).toFixed(1);

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [line(heads), line(heads.map(() => '---')), ...rows.map(line), ''].join('\n');

/** Two tables, of time and of memory, in Markdown. */
export function report(rows: readonly Row[]): string {
  const time = table(
    [
      'Inbound',
      'Carrier',
      'Costliest connection',
      'µs',
      'Costliest against an honest flow of as many bytes',
      'ns a byte',
      'times',
      'Longest turn, ms',
      'Honest: µs, and ns a byte',
      'Tried',
    ],
    rows.map((row) => [
      row.target.inbound,
      row.target.carrier,
      cell(row, 'time per connection', story),
      cell(row, 'time per connection', ({ cost }) => cost.micros.toFixed(0)),
      cell(row, 'work against an honest flow', story),
      cell(row, 'work against an honest flow', ({ cost }) =>
        ((cost.micros * 1000) / cost.bytes).toFixed(0),
      ),
      cell(row, 'work against an honest flow', ({ cost }) => cost.ratio.toFixed(1)),
      longestTurn(row).toFixed(1),
      `${row.honest.connection.toFixed(0)}, ${(row.honest.byte * 1000).toFixed(1)}`,
      String(row.tried),
    ]),
  );
  const memory = table(
    [
      'Inbound',
      'Carrier',
      'Costliest',
      'KB held',
      'KB of the process',
      'Bytes sent',
      'Bound of all',
    ],
    rows.map((row) => [
      row.target.inbound,
      row.target.carrier,
      cell(row, 'memory per connection', story),
      cell(row, 'memory per connection', ({ cost }) => kilobytes(cost.held)),
      cell(row, 'memory per connection', ({ cost }) => kilobytes(cost.resident)),
      cell(row, 'memory per connection', ({ cost }) => cost.bytes.toFixed(0)),
      row.target.bound,
    ]),
  );
  return `${time}\n${memory}`;
}

const longestTurn = ({ worst }: Row): number =>
  Math.max(0, ...[...worst.values()].map(({ cost }) => cost.longestTurn));
