import { quoted } from '../../printable.ts';

/** A balancer whose members follow a source, after an update of that. */
export interface BalancerChange {
  readonly tag: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** What an update changes in the nodes of a source, by their names here. */
export interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Nodes whose settings, server or credentials are others now. */
  readonly changed: readonly string[];
  /** Nodes that the source has no more, and that are kept while something refers to them. */
  readonly kept: readonly string[];
  /** How many are as before. */
  readonly same: number;
}

export const NO_DIFFERENCE: Difference = { added: [], removed: [], changed: [], kept: [], same: 0 };

/** What an update changes in a balancer, in one line: `balancer "Auto" +3 −1`. */
export const balancerLine = ({ tag, added, removed }: BalancerChange): string =>
  ['balancer', quoted(tag), ...counted('+', added), ...counted('−', removed)].join(' ');

const counted = (mark: string, names: readonly string[]): readonly string[] =>
  names.length === 0 ? [] : [`${mark}${names.length}`];

/** In one line: `+3 −1 ~2 =40, 1 kept`. Kinds without any are left out, except what is as before. */
export function differenceLine({ added, removed, changed, kept, same }: Difference): string {
  const parts = [...counted('+', added), ...counted('−', removed), ...counted('~', changed)];
  const line = [...parts, `=${same}`].join(' ');
  return kept.length === 0 ? line : `${line}, ${kept.length} kept`;
}
