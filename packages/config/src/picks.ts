import { emptyTable, type Span } from '@weir/proxy/schema';
import { DEFAULT_GROUP, isBuiltinTag, type RouteTarget } from './route-targets.ts';
import { balancerTags, type ConfigFile, type SubscribeFile } from './sources/config-file.ts';
import { routeTable } from './tables/route.ts';

/** Targets by the names of route groups. */
export type Picks = ReadonlyMap<string, string>;

const NONE: Picks = new Map();

/**
 * Replaces picks of a configuration by others, as far as their group and target exist.
 *
 * @returns the configuration, and the picks that it has got
 */
export function withPicks(
  wanted: Picks = NONE,
  file: ConfigFile,
  subscribe: SubscribeFile | undefined,
): { readonly file: ConfigFile; readonly picks: Picks } {
  if (wanted.size === 0) return { file, picks: NONE };
  const groups = new Set([DEFAULT_GROUP, ...groupNames(file, subscribe)]);
  const targets = targetNames(file, subscribe);
  const picks = new Map(
    [...wanted].filter(
      ([group, target]) => groups.has(group) && (targets.has(target) || isBuiltinTag(target)),
    ),
  );
  return { file: picks.size === 0 ? file : pickedFile(file, picks), picks };
}

/** The place of picks that no document has. */
const NOWHERE: Span = { start: 0, end: 0 };

function pickedFile(file: ConfigFile, picks: Picks): ConfigFile {
  const targets = Array.from(picks, ([group, value]): [string, RouteTarget] => [
    group,
    { value, span: NOWHERE },
  ]);
  const { subscribe, route } = file;
  if (subscribe) {
    const routes = new Map([...subscribe.value.routes, ...targets]);
    return { ...file, subscribe: { ...subscribe, value: { ...subscribe.value, routes } } };
  }
  const [[, target] = []] = targets;
  return { ...file, route: { ...(route ?? routeTable(emptyTable(NOWHERE))), default: target } };
}

const groupNames = (file: ConfigFile, subscribe: SubscribeFile | undefined): readonly string[] =>
  file.subscribe && subscribe ? subscribe.routeGroup.map(({ name }) => name.value) : [];

function targetNames(file: ConfigFile, subscribe: SubscribeFile | undefined): Set<string> {
  return new Set([
    ...file.outbound.map(({ value }) => value.tag.value),
    ...balancerTags(file),
    ...(subscribe?.proxyServer ?? []).map(({ value }) => value.name.value),
  ]);
}
