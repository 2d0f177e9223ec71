import { quoted } from '@weir/base/printable';

/** Changes of a balancer whose members follow a source, after an update of the source. */
export interface BalancerChange {
  readonly tag: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Changes of a source's nodes by an update, by their names in the subscribe file. */
export interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Nodes whose settings, server or credentials have changed. */
  readonly changed: readonly string[];
  /** Nodes that the source no longer has, and that are kept while something refers to them. */
  readonly kept: readonly string[];
  /** Number of unchanged nodes. */
  readonly same: number;
}

export const NO_DIFFERENCE: Difference = { added: [], removed: [], changed: [], kept: [], same: 0 };

/** The changes of a balancer in one line: `balancer "Auto" +3 −1`. */
export const balancerLine = ({ tag, added, removed }: BalancerChange): string =>
  ['balancer', quoted(tag), ...counted('+', added), ...counted('−', removed)].join(' ');

const counted = (mark: string, names: readonly string[]): readonly string[] =>
  names.length === 0 ? [] : [`${mark}${names.length}`];

/** The difference in one line: `+3 −1 ~2 =40, 1 kept`. Counts of 0 are left out, except that of unchanged nodes. */
export function differenceLine({ added, removed, changed, kept, same }: Difference): string {
  const parts = [...counted('+', added), ...counted('−', removed), ...counted('~', changed)];
  const line = [...parts, `=${same}`].join(' ');
  return kept.length === 0 ? line : `${line}, ${kept.length} kept`;
}
