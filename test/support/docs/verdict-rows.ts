import type { KeyTable } from '../../../packages/nodes/src/import/verdicts.ts';

/** The table of keys that are not carried over, as pages have it: keys with one reason share a row. */
export function verdictTable(keys: KeyTable): string {
  const rows = new Map<string, string[]>();
  for (const [key, verdict] of Object.entries(keys)) {
    if (verdict.kind === 'same') continue;
    const what = verdict.kind === 'refused' ? 'left out' : 'dropped';
    const row = `${what} | ${verdict.reason} |`;
    rows.set(row, [...(rows.get(row) ?? []), `\`${key}\``]);
  }
  const lines = Array.from(rows, ([row, names]) => `| ${names.join(', ')} | ${row}`);
  return ['| Keys | | Reason |', '|---|---|---|', ...lines].join('\n');
}
