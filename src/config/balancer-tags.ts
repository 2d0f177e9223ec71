import type { ConfigFile } from './config-file.ts';

/** The tags of the balancers of a file, in file order. */
export function balancerTags({ balancer }: ConfigFile): readonly string[] {
  return balancer.map(({ tag }) => tag.value);
}
