import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parseToml } from '@weir/config/toml';
import { followLine, parseFollow } from '../../../src/import/write/markers.ts';
import {
  followBalancers,
  planMembers,
  type FollowedBalancers,
} from '../../../src/subscribe/balancers/follow-balancers.ts';
import { readNodeFile } from '../../../src/subscribe/nodes/node-file.ts';
import { link, merged } from '../../../../../test/support/subscribe/nodes.ts';

interface Sent {
  readonly source?: string;
  /** Before this update. */
  readonly nodes?: string;
  /** Links, or names of nodes. */
  readonly list: readonly string[];
  readonly groups?: Readonly<Record<string, readonly string[]>>;
}

/** Has the balancers of a configuration follow what a source sends. */
async function followed(
  config: string,
  { source = 'home', nodes = '', list, groups = {} }: Sent,
): Promise<FollowedBalancers> {
  const links = list.map((each) => (each.includes('://') ? each : link(each)));
  const inUse = [...config.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name);
  const taken = [...config.matchAll(/^tag = "([^"]*)"/gm)].map(([, tag = '']) => tag);
  const { text, names } = await merged(nodes, links, { source, inUse, taken });
  return followBalancers(config, {
    source,
    nodes: readNodeFile(text),
    names,
    membersOf: (group) => groups[group],
  });
}

const balancer = (marker: string, members: readonly string[]): string =>
  `${marker}\n[[balancer]]\ntag = "Auto"\noutbounds = [${members.map((each) => `"${each}"`).join(', ')}]\n`;

/** The members of the first balancer of a configuration. */
function membersOf(text: string): readonly string[] {
  const [, list = ''] = /^outbounds = \[([^\]]*)\]/m.exec(text) ?? [];
  return [...list.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name);
}

const subscribed = async (source: string, ...names: readonly string[]): Promise<string> =>
  (
    await merged(
      '',
      names.map((name) => link(name)),
      { source },
    )
  ).text;

describe('a balancer that follows a source', () => {
  test('has its nodes in place of those that are gone, and a comment that stays', async () => {
    const nodes = await subscribed('home', 'a', 'b', 'c');
    const config = balancer('# mine\n# follows: home', ['a', 'b', 'c']);
    const { text, changes } = await followed(config, { nodes, list: ['d', 'b', 'e'] });
    assert.equal(text, balancer('# mine\n# follows: home', ['d', 'b', 'e']));
    assert.deepEqual(changes, [{ tag: 'Auto', added: ['d', 'e'], removed: ['a', 'c'] }]);
  });

  test('stays byte for byte with the same nodes, in whatever order', async () => {
    const nodes = await subscribed('home', 'a', 'b', 'c');
    const config = balancer('# follows: home', ['b', 'c', 'a']).replace('", "', '"  ,\t"');
    const { text, changes } = await followed(config, { nodes, list: ['c', 'a', 'b'] });
    assert.deepEqual([text, changes], [config, []]);
  });

  test('keeps members that are not of the source where they are', async () => {
    const nodes = await subscribed('home', 'a', 'b');
    const own =
      '[[outbound]]\ntag = "first"\nprotocol = "freedom"\n[[outbound]]\ntag = "last"\nprotocol = "freedom"\n';
    const config = own + balancer('# follows: home', ['first', 'a', 'b', 'last']);
    const { text } = await followed(config, { nodes, list: ['x', 'y'] });
    assert.deepEqual(membersOf(text), ['first', 'x', 'y', 'last']);
  });

  test('takes nodes by their names at the source, and leaves out what is excluded', async () => {
    const config = balancer(
      '# follows: home; filter: "(?i)^hk"; filter: "JP"; exclude: "x10"; exclude-protocol: "ss"',
      ['HK 1'],
    );
    const nodes = await subscribed('home', 'HK 1');
    const list = ['hk 2', 'JP 1', 'US 1', 'HK x10', link('HK 9', 'HK 1')];
    const shadowsocks = 'ss://YWVzLTEyOC1nY206eA@h.example:1#HK%20ss';
    const { text } = await followed(config, { nodes, list: [...list, shadowsocks] });
    assert.deepEqual(membersOf(text), ['hk 2', 'JP 1', 'HK 1']);
  });

  test('never has a node that a TCP connection cannot probe', async () => {
    const nodes = await subscribed('home', 'a');
    const config = balancer('# follows: home', ['a']);
    const { text } = await followed(config, { nodes, list: ['hysteria2://p@h.example:1#h', 'b'] });
    assert.deepEqual(membersOf(text), ['b']);
  });

  test('has the members of the group of that name, where the list has it', async () => {
    const nodes = await subscribed('home', 'a', 'b', 'c');
    const config = balancer('# follows: home; group: "Auto"; filter: "."', ['a', 'b']);
    const sent = { nodes, list: ['a', 'b', 'c', 'd'] };
    const grouped = await followed(config, { ...sent, groups: { Auto: ['d', 'c'] } });
    assert.deepEqual(membersOf(grouped.text), ['d', 'c']);
    assert.deepEqual(membersOf((await followed(config, sent)).text), ['a', 'b', 'c', 'd']);
    const alone = config.replace('; filter: "."', '');
    assert.equal((await followed(alone, sent)).text, alone);
    const without = await followed(alone, { nodes, list: ['a', 'c'] });
    assert.deepEqual(membersOf(without.text), ['a']);
  });

  test('stays as it is rather than without a member', async () => {
    const nodes = await subscribed('home', 'HK 1');
    const config = balancer('# follows: home; filter: "HK"', ['HK 1']);
    const { text, changes } = await followed(config, { nodes, list: ['US 1'] });
    assert.deepEqual([text, changes], [config, []]);
  });

  test('stays as it is when it follows another source, or none', async () => {
    const nodes = await subscribed('home', 'a');
    for (const marker of ['# follows: work', '# mine', '#', '# follows: home\n']) {
      const config = balancer(marker, ['a']);
      assert.equal((await followed(config, { nodes, list: ['b'] })).text, config, marker);
    }
  });

  test('stays as it is when its line is invalid, which is reported', async () => {
    for (const [line, reason] of [
      ['# follows: ho me', /is not the name of a source/],
      ['# follows: home; filter: hk', /has to be one of group: "…", filter: "…"/],
      ['# follows: home; filter: "("', /an expression of its line "follows" is invalid/],
    ] as const) {
      const config = balancer(line, ['a']);
      const found = await followed(config, { list: ['b'] });
      assert.equal(found.text, config);
      assert.match(found.problems.join('\n'), reason);
    }
  });

  test('of several sources has the nodes of each, at their places', async () => {
    const home = await subscribed('home', 'a', 'b');
    const both = (await merged(home, [link('x')], { source: 'work' })).text;
    const config = balancer('# follows: *', ['a', 'b', 'x']);
    const { text } = await followed(config, { nodes: both, list: ['c'] });
    assert.deepEqual(membersOf(text), ['c', 'x']);
    const next = await followed(config, { nodes: both, source: 'work', list: ['y', 'x'] });
    assert.deepEqual(membersOf(next.text), ['a', 'b', 'y', 'x']);
  });

  test('keeps the comments and the layout of its list, and CRLF', async () => {
    const nodes = await subscribed('home', 'a', 'b', 'c');
    const config = `# follows: home\n[[balancer]]\ntag = "Auto"\noutbounds = [ # all\n    # fast\n    "a", # Tokyo\n    "b", # gone soon\n\n    "c"\n    # end\n  ]\n`;
    const { text } = await followed(config.replaceAll('\n', '\r\n'), {
      nodes,
      list: ['a', 'n', 'c'],
    });
    assert.equal(
      text,
      `# follows: home\n[[balancer]]\ntag = "Auto"\noutbounds = [ # all\n    # fast\n    "a", # Tokyo\n    "n",\n\n    "c",\n    # end\n]\n`.replaceAll(
        '\n',
        '\r\n',
      ),
    );
    parseToml(text);
  });
});

describe('a balancer of weir import', () => {
  const imported = async (...names: readonly string[]): Promise<string> =>
    (await subscribed('home', ...names)).replaceAll('# source: home', '# source: (import)');

  test('follows the source that has taken over its nodes, and others for what is left of them', async () => {
    const nodes = await imported('a', 'b', 'x');
    const config = balancer('# follows: (import); filter: "."', ['a', 'b', 'x']);
    const { text } = await followed(config, { nodes, list: ['a', 'b', 'c'] });
    assert.equal(text, balancer('# follows: home, (import); filter: "."', ['a', 'b', 'c', 'x']));
    const all = await followed(config, { nodes, list: ['x', 'b', 'a'] });
    assert.equal(all.text, balancer('# follows: home; filter: "."', ['a', 'b', 'x']));
    const other = await followed(config, { nodes, list: ['y'] });
    assert.equal(other.text, config);
  });

  test('of outbounds in the same file follows a source with the same servers, each of them once', async () => {
    const outbounds = (await imported('a', 'b'))
      .replaceAll(/^#.*\n/gm, '')
      .replaceAll('proxy_server', 'outbound')
      .replaceAll('name =', 'tag =');
    const config = outbounds + balancer('# follows: (import)', ['a', 'b']);
    const first = await followed(config, { list: ['a', 'b'] });
    assert.equal(first.text, outbounds + balancer('# follows: home', ['a', 'b']));
    const later = await followed(first.text, { list: ['c', 'b'] });
    assert.deepEqual(membersOf(later.text), ['a', 'b', 'c']);
  });
});

test('members that stay keep their order, and each new one follows the one before it in the list', () => {
  const name = fc.constantFrom<string>('a', 'b', 'c', 'd', 'own 1', 'own 2');
  const isOwn = (each: string): boolean => each.startsWith('own');
  const wanted = fc.uniqueArray(fc.constantFrom<string>('a', 'b', 'c', 'd', 'e', 'f'));
  fc.assert(
    fc.property(fc.uniqueArray(name), wanted, (current, list) => {
      const { members, last, added, removed } = planMembers(current, list, isOwn);
      const after = [
        ...members.flatMap((each) => [
          ...each.before,
          ...(each.isKept ? [each.name] : []),
          ...each.after,
        ]),
        ...last,
      ];
      assert.deepEqual(
        after.toSorted(),
        [...list, ...current.filter(isOwn)].toSorted(),
        'the list, and what is not of it',
      );
      const kept = current.filter((each) => after.includes(each));
      assert.deepEqual(
        after.filter((each) => kept.includes(each)),
        kept,
      );
      assert.deepEqual(
        added,
        list.filter((each) => !current.includes(each)),
      );
      assert.deepEqual(
        removed,
        current.filter((each) => !after.includes(each)),
      );
      assert.deepEqual(planMembers(after, list, isOwn).added, []);
    }),
  );
});

test('a marker is what its line says, whatever its texts hold', () => {
  const odd = fc.constantFrom('"', '\\', ';', ': ', '\n', '\u202e', '\ud800', '🇯🇵', 'x');
  const text = fc.array(odd, { maxLength: 8 }).map((parts) => parts.join(''));
  const texts = fc.array(text, { maxLength: 3 });
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom('home', 'w.o_r-k', '*', '(import)'), { minLength: 1 }),
      fc.option(text, { nil: undefined }),
      texts,
      texts,
      texts,
      (sources, group, filters, excluded, excludedProtocols) => {
        const marker = { sources, group, filters, excluded, excludedProtocols };
        const line = followLine(marker) ?? '';
        assert.doesNotMatch(line, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        assert.deepEqual(parseFollow(line), marker);
      },
    ),
  );
});
