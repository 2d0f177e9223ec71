import { suggestion } from '../../schema/suggestion.ts';
import { DEFAULT_GROUP, picksOf } from '../route-targets.ts';
import { inheritOf } from '../sources/subscribe-file.ts';
import type { Examined } from './examined.ts';
import { quotedShort, type WarningList } from './warning.ts';

/** Warns of route groups without effect, and of picks for unknown groups. */
export function warnOfGroups({ own, subscribe }: Examined, list: WarningList): void {
  if (!subscribe) return;
  const names = new Set(subscribe.routeGroup.map(({ name }) => name.value));
  for (const [group, { span }] of picksOf(own)) {
    if (group === DEFAULT_GROUP || names.has(group)) continue;
    list.add('pick-without-group', span, () => {
      const meant = suggestion(group, names);
      const hint = meant === undefined ? '' : `; did you mean ${quotedShort(meant)}?`;
      return `[subscribe.routes]: the subscribe file has no route group ${quotedShort(group)}${hint}`;
    });
  }
  const inherited = new Set<string>();
  for (const group of subscribe.routeGroup) {
    const inherit = inheritOf(group);
    if (typeof inherit === 'object') inherited.add(inherit.group);
  }
  for (const { name, rule } of subscribe.routeGroup) {
    if (rule.length > 0 || inherited.has(name.value)) continue;
    list.add(
      'unused-group',
      name.span,
      () => `route group ${quotedShort(name.value)} has no rule, so nothing goes through it`,
    );
  }
}
