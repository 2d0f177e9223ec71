import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FetchError } from '../../../src/fetch/contract.ts';
import { nameThere } from '../../../src/subscribe/nodes/merge-source.ts';
import { readNodeFile } from '../../../src/subscribe/nodes/node-file.ts';
import { link } from '../../../../../test/support/subscribe/nodes.ts';
import {
  DIRECT,
  testWorkspace,
  type TestWorkspace,
} from '../../../../../test/support/subscribe/workspace.ts';

/** Many updates of two sources: nodes that come, go, are renamed, doubled, moved and changed, and any failure. */

const SOURCES = ['home', 'work'] as const;
type Source = (typeof SOURCES)[number];
type Fault = 'unreachable' | 'web page' | 'refused reload' | 'dry run';

/** A node as a source has it. */
interface Sent {
  readonly there: string;
  readonly id: string;
  readonly sni: string;
}

interface Node extends Sent {
  readonly name: string;
  readonly source: string | undefined;
  readonly isGone: boolean;
}

const OWN = `# mine
[[proxy_server]]
name = "A"   # not of a source
protocol = "trojan"
server = "1.example"
port = 443
settings = { password = "pw-1" }
`;
const GROUPS = '\n# about groups\n[[route_group]]\nname = "G"\n';
const HEAD = `${DIRECT}[subscribe]\npath = "nodes.toml"\n`;

const url = (source: Source): string => `http://${source}.example/`;

class Model {
  nodes: readonly Node[] = [];
  /** What rules or picks name. */
  used: readonly string[] = [];
}

class Real {
  readonly workspace: TestWorkspace;

  constructor(workspace: TestWorkspace) {
    this.workspace = workspace;
  }

  async files(): Promise<string> {
    const names = ['weir.toml', 'nodes.toml', 'nodes.sources.toml'];
    return (await Promise.all(names.map((name) => this.workspace.text(name)))).join('\0');
  }

  async nodes(): Promise<Node[]> {
    const { nodes } = readNodeFile(await this.workspace.text('nodes.toml'));
    return nodes.map((node) => {
      const { name, identity, content, marker } = node;
      const [, server = ''] = JSON.parse(identity) as string[];
      const [, sni = ''] = /"server_name",?:?"?([^",]*)/.exec(content) ?? [];
      const there = nameThere(node);
      const id = server.replace('.example', '');
      const isGone = marker?.goneSince !== undefined;
      return { name, there, id, sni, source: marker?.source, isGone };
    });
  }
}

/** The node that each of a list was before: see `matchNodes`. */
function matchesOf(list: readonly Sent[], before: readonly Node[]): ReadonlyMap<Sent, Node> {
  const matches = new Map<Sent, Node>();
  const free = new Set(before);
  for (const isSame of [
    (a: Sent, b: Node) => a.id === b.id && a.there === b.there && a.sni === b.sni,
    (a: Sent, b: Node) => a.id === b.id && a.there === b.there,
    (a: Sent, b: Node) => a.id === b.id,
    (a: Sent, b: Node) => a.there === b.there,
  ]) {
    for (const sent of list) {
      const found = matches.has(sent) ? undefined : [...free].find((node) => isSame(sent, node));
      if (!found) continue;
      matches.set(sent, found);
      free.delete(found);
    }
  }
  return matches;
}

const keyOf = ({ name, there, id, sni, isGone }: Omit<Node, 'source'>): string =>
  JSON.stringify([name, there, id, sni, isGone]);

class Update implements fc.AsyncCommand<Model, Real> {
  readonly #source: Source;
  readonly #list: readonly Sent[];
  readonly #fault: Fault | undefined;

  constructor(source: Source, list: readonly Sent[], fault: Fault | undefined) {
    this.#source = source;
    this.#list = list;
    this.#fault = fault;
  }

  check = (): boolean => true;

  async run(model: Model, real: Real): Promise<void> {
    const { workspace } = real;
    const before = await real.files();
    const answer = this.#list.map(({ there, id, sni }) => link(there, id, sni && `?sni=${sni}`));
    const failed = new FetchError('dial', 'home.example', 'connection refused');
    const body = this.#fault === 'web page' ? '<html>' : answer.join('\n');
    workspace.answers.set(url(this.#source), this.#fault === 'unreachable' ? failed : body);
    workspace.refusal = this.#fault === 'refused reload' ? 'no' : undefined;
    const dryRun = this.#fault === 'dry run';
    const options = { names: [this.#source], force: true, dryRun };
    const [outcome] = await workspace.update(options);
    assert.ok(outcome);
    const { difference } = outcome;
    if (this.#fault) {
      assert.equal(await real.files(), before);
      // A list that changes nothing needs no reload that could be refused.
      const isFine = dryRun || (workspace.refusal !== undefined && outcome.kind !== 'refused');
      assert.ok(isFine || outcome.error, outcome.kind);
      return;
    }
    assert.equal(outcome.error, undefined);
    const mine = model.nodes.filter(({ source }) => source === this.#source);
    const matches = matchesOf(this.#list, mine);
    const matched = new Set(matches.values());
    const gone = mine.filter((node) => !matched.has(node));
    const kept = gone.filter(({ name }) => model.used.includes(name));
    const nodes = await real.nodes();
    const others = model.nodes.filter(({ source }) => source !== this.#source);
    assert.deepEqual(
      nodes.filter(({ source }) => source !== this.#source),
      others,
    );
    const now = nodes.filter(({ source }) => source === this.#source);
    const missing = [
      ...Array.from(matches, ([sent, { name }]) => keyOf({ ...sent, name, isGone: false })),
      ...kept.map((node) => keyOf({ ...node, isGone: true })),
    ];
    const fresh = now.filter((node) => {
      const at = missing.indexOf(keyOf(node));
      if (at !== -1) missing.splice(at, 1);
      return at === -1;
    });
    assert.deepEqual(missing, []);
    const last = model.nodes.findLast((node) => node.source === this.#source);
    const order = model.nodes.flatMap((node) => [
      ...(node.source !== this.#source || matched.has(node) || kept.includes(node) ? [node] : []),
      ...(node === last ? fresh : []),
    ]);
    if (!last) order.push(...fresh);
    assert.deepEqual(
      nodes.map(({ name }) => name),
      order.map(({ name }) => name),
      'in their places, and new ones behind the last of their source',
    );
    const added = this.#list.filter((sent) => !matches.has(sent));
    const idsOf = (some: readonly Sent[]): string[] => some.map(({ id }) => id).toSorted();
    assert.deepEqual(idsOf(fresh), idsOf(added));
    for (const { name, there } of fresh) {
      assert.ok(name === there || /^(.*?)( \(\w+\))?( \d+)?$/.exec(name)?.[1] === there, name);
    }
    assert.equal(new Set(nodes.map(({ name }) => name)).size, nodes.length, 'names are unique');
    const changed = Array.from(matches).filter(
      ([sent, node]) => sent.id !== node.id || sent.sni !== node.sni,
    );
    assert.deepEqual(
      { ...difference, added: difference.added.length, changed: difference.changed.toSorted() },
      {
        added: added.length,
        removed: gone.filter((node) => !kept.includes(node)).map(({ name }) => name),
        changed: changed.map(([, { name }]) => name).toSorted(),
        kept: kept.map(({ name }) => name),
        same: matches.size - changed.length,
      },
    );
    const text = await workspace.text('nodes.toml');
    assert.ok(text.startsWith(OWN), 'what is not of a source');
    assert.ok(text.includes(GROUPS));
    model.nodes = nodes;
    const [files, applied] = [await real.files(), workspace.applied.length];
    const [again] = await workspace.update(options);
    assert.deepEqual(again?.difference, {
      added: [],
      removed: [],
      changed: [],
      kept: difference.kept,
      same: this.#list.length,
    });
    assert.deepEqual([await real.files(), workspace.applied.length], [files, applied]);
  }

  toString = (): string =>
    `update(${this.#source}, ${JSON.stringify(this.#list)}, ${this.#fault ?? 'whole'})`;
}

/** Picks one of the nodes that are there, and none of those before. */
class Pick implements fc.AsyncCommand<Model, Real> {
  readonly #n: number;

  constructor(n: number) {
    this.#n = n;
  }

  check = ({ nodes }: Model): boolean => nodes.length > 0;

  async run(model: Model, { workspace }: Real): Promise<void> {
    const { name } = model.nodes[this.#n % model.nodes.length] ?? { name: 'out' };
    const pick = `[subscribe.routes]\ndefault = ${JSON.stringify(name)}\n`;
    await workspace.write('weir.toml', HEAD + pick);
    model.used = [name];
  }

  toString = (): string => `pick(${this.#n})`;
}

const sent = fc.record({
  there: fc.constantFrom('A', 'B', 'C', 'D 1'),
  id: fc.constantFrom('1', '2', '3', '4', '5'),
  sni: fc.constantFrom('', '', 'x.test'),
});
const list = fc.array(sent, { minLength: 1, maxLength: 6 });
const source = fc.constantFrom(...SOURCES);
const fault = fc.constantFrom<Fault>('unreachable', 'web page', 'refused reload', 'dry run');

const commands = fc.commands(
  [
    fc.tuple(source, list).map(([from, nodes]) => new Update(from, nodes, undefined)),
    fc.tuple(source, list, fault).map(([from, nodes, what]) => new Update(from, nodes, what)),
    fc.nat(20).map((n) => new Pick(n)),
  ],
  { maxCommands: 12, size: 'max' },
);

test('any updates keep what is not of their source, names and picks, and a failed one changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(commands, async (updates) => {
      await using workspace = await testWorkspace(HEAD);
      await workspace.write('nodes.toml', OWN + GROUPS);
      const real = new Real(workspace);
      for (const name of SOURCES) {
        workspace.answers.set(url(name), link('first', `first-${name}`));
        await workspace.add(name);
      }
      const model = new Model();
      model.nodes = await real.nodes();
      await fc.asyncModelRun(() => ({ model, real }), updates);
    }),
    { numRuns: 15 },
  );
});
