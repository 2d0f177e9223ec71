import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'smol-toml';
import { ctl } from '../../packages/weir/src/cli/control/ctl.ts';
import { ApiClientError } from '@weir/client/api';
import { createFilePages } from '../../packages/watch/src/dashboard/create-file-pages.ts';
import { ActionError } from '../../packages/watch/src/dashboard/parameters.ts';
import type {
  PickPreview,
  RoutePickResult,
  RoutesView,
} from '../../packages/watch/src/dashboard/routes/view.ts';
import { systemClock } from '@weir/io/time';
import { ClashProcess } from '../support/clash/clash-process.ts';
import { WatchedSource } from '../support/dashboard/watched-source.ts';
import { recorder } from '../support/peers/recorder.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { CapturedIo } from '../support/process/captured-io.ts';
import { proxyOut, socksIn } from '../support/process/config.ts';
import { API, Control, etagOf } from '../support/process/control.ts';
import { Weir } from '../support/process/weir.ts';
import { readAll } from '../support/read.ts';

/** Picks from the API, `weir ctl`, the dashboard and `weir clash-api`: all of them show the same, and flows obey. */

const GROUPS = ['Video', 'News', 'Apart'] as const;
const ROUTES = ['default', ...GROUPS] as const;
type Route = (typeof ROUTES)[number];
/** Groups that inherit; `Apart` inherits from a built-in. */
const INHERITS: Readonly<Record<Route, Route | 'direct' | undefined>> = {
  default: undefined,
  Video: 'default',
  News: 'Video',
  Apart: 'direct',
};
const TARGETS = ['near', 'far', 'node', 'direct', 'blackhole'] as const;
const SIDES = ['api', 'ctl', 'dashboard', 'clash-api'] as const;
type Side = (typeof SIDES)[number];

const routeGroup = (name: string, inherit: string): string =>
  `[[route_group]]\nname = "${name}"\ninherit = ${inherit}\n[[route_group.rule]]\ndomain_suffix = ["${name.toLowerCase()}.test"]\n`;

interface Model {
  readonly picks: Map<Route, string>;
  /** Whether the subscribe file has its node. */
  hasNode: boolean;
}

interface RoutesBody {
  readonly default: { readonly pick: string | null; readonly target: string };
  readonly groups: readonly {
    readonly name: string;
    readonly pick: string | null;
    readonly target: string;
  }[];
  readonly targets: readonly { readonly name: string }[];
}

const targetOf = ({ picks }: Model, route: Route): string => {
  const inherited = INHERITS[route];
  const pick = picks.get(route);
  if (pick !== undefined || inherited === undefined) return pick ?? 'near';
  return inherited === 'direct' ? 'direct' : targetOf({ picks, hasNode: true }, inherited);
};

/** A running Weir and the three programs that steer it. */
class Sides implements AsyncDisposable {
  readonly weir: Weir;
  readonly control: Control;
  readonly page: WatchedSource;
  readonly clash: ClashProcess;
  readonly node: string;
  readonly #held: AsyncDisposableStack;

  private constructor(
    parts: Pick<Sides, 'weir' | 'control' | 'page' | 'clash' | 'node'>,
    held: AsyncDisposableStack,
  ) {
    this.weir = parts.weir;
    this.control = parts.control;
    this.page = parts.page;
    this.clash = parts.clash;
    this.node = parts.node;
    this.#held = held;
  }

  static async start(): Promise<Sides> {
    await using held = new AsyncDisposableStack();
    const outbounds: string[] = [];
    for (const name of ['near', 'far']) {
      outbounds.push(proxyOut(name, 'socks', held.use(await recorder(name))));
    }
    const { host, port } = held.use(await recorder('node'));
    const node = `[[proxy_server]]\nname = "node"\nprotocol = "socks"\nserver = "${host}"\nport = ${port}\n`;
    const config = `${API}${socksIn()}${outbounds.join('')}[subscribe]\npath = "sub.toml" # the file\n`;
    const weir = held.use(
      await Weir.start(config, { control: true, files: { 'sub.toml': GROUP_TABLES + node } }),
    );
    const control = await Control.of(weir);
    const page = held.use(await WatchedSource.of(weir, createFilePages));
    const clash = held.use(await ClashProcess.start(['--socket', weir.controlPath]));
    return new Sides({ weir, control, page, clash, node }, held.move());
  }

  async ctl(...argv: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
    const io = new CapturedIo();
    const code = await ctl([...argv, '--socket', this.weir.controlPath], io, systemClock);
    return { code, out: io.out };
  }

  /** @returns whether the pick was made */
  async pickInDashboard(pick: { group: string; target?: string; inherit?: boolean }) {
    try {
      const { etag } = await this.page.act<PickPreview>('route-preview', pick);
      const { kind } = await this.page.act<RoutePickResult>('route-pick', { ...pick, etag });
      return kind === 'done';
    } catch (error) {
      assert.ok(error instanceof ActionError || error instanceof ApiClientError, String(error));
      return false;
    }
  }

  nodes(hasNode: boolean): string {
    return GROUP_TABLES + (hasNode ? this.node : '');
  }

  writeNodes(hasNode: boolean): Promise<void> {
    return writeFile(`${this.weir.folder}/sub.toml`, this.nodes(hasNode));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held.disposeAsync();
  }
}

const GROUP_TABLES =
  routeGroup('Video', '"default"') +
  routeGroup('News', '{ group = "Video" }') +
  routeGroup('Apart', '"direct"');

/** All sides show the picks of the model, the file has them, and flows go where they say. */
async function assertAgree(model: Model, sides: Sides): Promise<void> {
  const { control, page, clash } = sides;
  const text = await readFile(control.file, 'utf8');
  const { routes = {} } = (parse(text)['subscribe'] ?? {}) as { routes?: Record<string, string> };
  assert.deepEqual({ ...routes }, Object.fromEntries(model.picks), 'the file');
  const wanted = ROUTES.map((name) => [name, model.picks.get(name) ?? null, targetOf(model, name)]);
  const shown = (
    rows: readonly {
      readonly name: string;
      readonly pick: string | null;
      readonly target: string | null;
    }[],
  ) => rows.map(({ name, pick, target }) => [name, pick, target]);

  const { text: view, headers } = await control.api.get('/v1/routes');
  assert.equal(headers['etag'], etagOf(text));
  const body = JSON.parse(view) as RoutesBody;
  assert.deepEqual(shown([{ name: 'default', ...body.default }, ...body.groups]), wanted, 'api');
  assert.equal(
    body.targets.some(({ name }) => name === 'node'),
    model.hasNode,
  );
  assert.deepEqual(JSON.parse((await sides.ctl('routes')).out), body, 'ctl');
  const { rows } = await page.until<RoutesView>(
    'routes',
    'the routes of the file',
    ({ etag, rows: seen }) =>
      etag === headers['etag'] && JSON.stringify(shown(seen)) === JSON.stringify(wanted),
  );
  assert.equal(rows.length, ROUTES.length, 'dashboard');
  for (const route of ROUTES) {
    const { json } = await clash.ask('GET', `/proxies/${route}`);
    const now = model.picks.get(route) ?? INHERITS[route] ?? 'near';
    assert.equal((json as { readonly now: string }).now, now, `clash-api: ${route}`);
  }
  for (const route of ROUTES) {
    const target = targetOf(model, route);
    // What goes to no recorder would leave this machine, or end at once.
    if (target === 'direct' || target === 'blackhole') continue;
    const host = route === 'default' ? 'other.test' : `${route.toLowerCase()}.test`;
    const socket = await socksConnect(sides.weir.address('socks'), { host, port: 80 });
    assert.equal(String((await readAll(socket)).data), target, `a flow of ${route}`);
    socket.destroy();
  }
}

type Command = fc.AsyncCommand<Model, Sides>;

class PickRoute implements Command {
  readonly #side: Side;
  readonly #route: Route;
  readonly #target: string;

  constructor(side: Side, route: Route, target: string) {
    this.#side = side;
    this.#route = route;
    this.#target = target;
  }

  check = (): boolean => true;

  async run(model: Model, sides: Sides): Promise<void> {
    const isKnown = this.#target !== 'node' || model.hasNode;
    assert.equal(await this.#pick(sides), isKnown, 'accepted');
    if (isKnown) model.picks.set(this.#route, this.#target);
    await assertAgree(model, sides);
  }

  /** @returns whether it was accepted */
  async #pick(sides: Sides): Promise<boolean> {
    const [group, target] = [this.#route, this.#target];
    switch (this.#side) {
      case 'api':
        return (await sides.control.api.pick(group, target)).status === 200;
      case 'ctl':
        return (await sides.ctl('pick', group, target)).code === 0;
      case 'clash-api': {
        const { status } = await sides.clash.ask('PUT', `/proxies/${group}`, { name: target });
        return status === 204;
      }
      case 'dashboard':
        return sides.pickInDashboard({ group, target });
      default:
        return this.#side satisfies never;
    }
  }

  toString = (): string => `${this.#side}: ${this.#route} = ${this.#target}`;
}

/** A group inherits again, which the dashboard alone offers. */
class Inherit implements Command {
  readonly #group: Route;

  constructor(group: Route) {
    this.#group = group;
  }

  check = ({ picks }: Model): boolean => picks.has(this.#group);

  async run(model: Model, sides: Sides): Promise<void> {
    assert.ok(await sides.pickInDashboard({ group: this.#group, inherit: true }));
    model.picks.delete(this.#group);
    await assertAgree(model, sides);
  }

  toString = (): string => `${this.#group} inherits`;
}

/** The node comes into the subscribe file, or goes: that is refused while a pick names it. */
class ToggleNode implements Command {
  check = (): boolean => true;

  async run(model: Model, sides: Sides): Promise<void> {
    const isNamed = [...model.picks.values()].includes('node');
    await sides.writeNodes(!model.hasNode);
    const { status } = await sides.control.post();
    assert.equal(status, isNamed ? 422 : 200);
    if (isNamed) {
      await sides.writeNodes(model.hasNode);
      await sides.control.post();
    } else model.hasNode = !model.hasNode;
    await assertAgree(model, sides);
  }

  toString = (): string => 'toggle node';
}

const commands = fc.commands(
  [
    fc
      .tuple(fc.constantFrom(...SIDES), fc.constantFrom(...ROUTES), fc.constantFrom(...TARGETS))
      .map((pick) => new PickRoute(...pick)),
    fc.constantFrom(...GROUPS).map((group) => new Inherit(group)),
    fc.constant(new ToggleNode()),
  ],
  { maxCommands: 25, size: 'max' },
);

test('picks from the API, weir ctl, the dashboard and weir clash-api show everywhere, in the file and in flows', async () => {
  await using sides = await Sides.start();
  const empty = await readFile(sides.control.file, 'utf8');
  await fc.assert(
    fc.asyncProperty(commands, async (chain) => {
      await writeFile(sides.control.file, empty);
      await sides.writeNodes(true);
      await sides.control.post();
      const model: Model = { picks: new Map(), hasNode: true };
      await fc.asyncModelRun(() => ({ model, real: sides }), chain);
      // A new process has the picks of the files, and no others.
      const files = { 'sub.toml': sides.nodes(model.hasNode) };
      await using restarted = await Weir.start(await readFile(sides.control.file, 'utf8'), {
        files,
      });
      const { api } = await Control.of(restarted);
      const view = (await sides.control.api.get('/v1/routes')).text;
      assert.equal((await api.get('/v1/routes')).text, view);
    }),
    { numRuns: 2 },
  );
});
