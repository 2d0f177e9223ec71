import { grows, QUANTITIES, type Point, type Trend } from './verdict.ts';

/** Tables in Markdown, so that they can go into docs/performance.md as they are. */

const MB = 1 << 20;
const IN_BYTES = new Set<string>(['heap', 'external', 'arrayBuffers', 'allocated', 'resident']);

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const value = (quantity: string, amount: number): string =>
  IN_BYTES.has(quantity) ? (amount / MB).toFixed(1) : amount.toFixed(0);

const title = (quantity: string): string => (IN_BYTES.has(quantity) ? `${quantity} MB` : quantity);

/** The head of the table over time. */
export function header(): string {
  const titles = ['process', 'seconds', 'connections', ...QUANTITIES.map(title)];
  return `${line(titles)}\n${line(titles.map(() => '---'))}`;
}

export function row(name: string, seconds: number, { connections, sample }: Point): string {
  const cells = QUANTITIES.map((quantity) => value(quantity, sample[quantity]));
  return line([name, seconds.toFixed(0), String(connections), ...cells]);
}

/** What came of it, by process and quantity. */
export function summary(
  trends: readonly { readonly process: string; readonly trend: Trend }[],
  { connections, reloads }: { readonly connections: number; readonly reloads: number },
): string {
  const titles = ['process', 'quantity', 'after the warm-up', 'at the end', 'trend', 'limit', ''];
  const rows = trends.map(({ process, trend }) => {
    const { quantity, first, last, growth, limit } = trend;
    const figures = [first, last, growth, limit].map((each) => value(quantity, each));
    return line([process, title(quantity), ...figures, grows(trend) ? 'grows' : 'steady']);
  });
  const what = `${connections} connections and ${reloads} reloads after a warm-up.`;
  return ['', what, '', line(titles), line(titles.map(() => '---')), ...rows, ''].join('\n');
}
