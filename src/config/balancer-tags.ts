import type { ConfigFile } from './config-file.ts';

/** The tags of the balancers of a file, in file order. */
export function balancerTags({ balancer }: ConfigFile): readonly string[] {
  // The table itself is not decoded yet; what is no tag is not in the way of a description.
  if (balancer?.kind !== 'array') return [];
  return balancer.items
    .map((item) => (item.kind === 'table' ? item.entries.get('tag')?.value : undefined))
    .filter((tag) => tag?.kind === 'string')
    .map((tag) => tag.value);
}
