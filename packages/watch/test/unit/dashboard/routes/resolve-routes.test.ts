import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { groupTargets } from '../../../../../config/src/route-targets.ts';
import type { RouteGroupView, RouteView } from '@weir/config/route-view';
import { resolveRoutes } from '../../../../src/dashboard/routes/resolve-routes.ts';

const group = (
  name: string,
  inherit: RouteGroupView['inherit'],
  pick: string | null = null,
): RouteGroupView => ({ name, pick, inherit, target: null });

const viewOf = (...groups: readonly RouteGroupView[]): RouteView => ({
  default: { pick: 'osaka', target: 'osaka' },
  groups,
  targets: [],
});

const found = (view: RouteView, changed?: { group: string; target: string }) =>
  resolveRoutes(view, changed).map(({ name, chain, target }) => [name, chain.join('>'), target]);

test('a group goes where its pick says, or where it inherits from', () => {
  const view = viewOf(
    group('video', { group: 'asia' }),
    group('asia', 'default'),
    group('lan', 'direct'),
    group('news', { group: 'asia' }, 'oslo'),
  );
  assert.deepEqual(found(view), [
    ['default', '', 'osaka'],
    ['video', 'asia>default', 'osaka'],
    ['asia', 'default', 'osaka'],
    ['lan', '', 'direct'],
    ['news', '', 'oslo'],
  ]);
});

test('a changed pick changes the groups that inherit from it', () => {
  const view = viewOf(group('video', { group: 'asia' }), group('asia', 'default'));
  assert.deepEqual(found(view, { group: 'asia', target: 'tokyo' }), [
    ['default', '', 'osaka'],
    ['video', 'asia', 'tokyo'],
    ['asia', '', 'tokyo'],
  ]);
  assert.deepEqual(
    found(view, { group: 'default', target: 'tokyo' }).map(([, , target]) => target),
    ['tokyo', 'tokyo', 'tokyo'],
  );
});

test('a circle and an unknown group lead nowhere, and their chains are bounded', () => {
  const view = viewOf(
    group('a', { group: 'b' }),
    group('b', { group: 'a' }),
    group('c', { group: 'nothing' }),
  );
  const routes = resolveRoutes(view);
  assert.deepEqual(
    routes.map(({ target }) => target),
    ['osaka', null, null, null],
  );
  assert.ok(routes.every(({ chain }) => chain.length <= 16));
});

test('targets are those that Weir finds itself', () => {
  const names = ['a', 'b', 'c', 'd'];
  const pick = fc.option(fc.constantFrom('x', 'y'));
  const inherit: fc.Arbitrary<RouteGroupView['inherit']> = fc.oneof(
    fc.constantFrom('default' as const, 'direct' as const, 'blackhole' as const),
    fc.record({ group: fc.constantFrom(...names, 'unknown') }),
  );
  const groups = fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), inherit, pick)));
  fc.assert(
    fc.property(groups, (all) => {
      const view = viewOf(...all.map(([name, from, picked]) => group(name, from, picked)));
      const span = { start: 0, end: 0 };
      const picks = all.flatMap(([name, , picked]) =>
        picked === null ? [] : [[name, { value: picked, span }] as const],
      );
      const targets = groupTargets(
        {
          outbound: [],
          route: undefined,
          subscribe: {
            value: { routes: new Map([...picks, ['default', { value: 'osaka', span }]]) },
          },
        } as unknown as Parameters<typeof groupTargets>[0],
        {
          proxyServer: [],
          routeGroup: all.map(([name, from]) => ({
            name: { value: name, span },
            inherit: { value: from, span },
          })),
        } as unknown as Parameters<typeof groupTargets>[1],
      );
      const expected = targets.map((target) => ('value' in target ? target.value : null));
      assert.deepEqual(
        resolveRoutes(view)
          .slice(1)
          .map(({ target }) => target),
        expected,
      );
    }),
  );
});
