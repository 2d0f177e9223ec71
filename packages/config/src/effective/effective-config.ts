import { findProtocol } from '@weir/proxy/protocols';
import { DISCLOSURE, type Node, type Shape, type TableNode } from '@weir/proxy/schema';
import type { Spec } from '@weir/proxy/spec';
import type { MergedConfig } from '../merge.ts';
import type { Places } from '../places.ts';
import { configFile } from '../sources/config-file.ts';
import {
  type ShownArray,
  shownScalar,
  shownString,
  type ShownTable,
  type ShownValue,
} from './shown-value.ts';

/** The inputs of an effective configuration. */
export interface EffectiveInput {
  /** The tables of the file, with their places. */
  readonly config: TableNode;
  /** The tables of the subscribe file, whose places follow those of the file; `undefined` without one. */
  readonly subscribe: TableNode | undefined;
  readonly merged: MergedConfig;
  readonly spec: Spec;
  readonly places: Places;
}

const DEFAULT = 'default';

/** Tables that are shown with their defaults even if the file lacks them. */
const ALWAYS = ['log', 'dns', 'route'] as const;

/**
 * Returns the effective configuration: nodes and rules of the subscribe file are merged, picks are targets, and keys
 * that the file omits have their defaults. Secrets are replaced by stars. All tables have been checked before.
 */
export function effectiveConfig(input: EffectiveInput): ShownTable {
  return new EffectiveConfig(input).table();
}

class EffectiveConfig {
  readonly #input: EffectiveInput;

  constructor(input: EffectiveInput) {
    this.#input = input;
  }

  table(): ShownTable {
    const { config } = this.#input;
    const entries = new Map<string, ShownValue>();
    for (const key of ['log', 'dns', 'inbound', 'outbound', 'balancer', 'route', 'api']) {
      const value = this.#section(key, config.entries.get(key)?.value);
      if (value) entries.set(key, value);
    }
    return { kind: 'table', from: this.#place(config), entries };
  }

  #section(key: string, node: Node | undefined): ShownValue | undefined {
    switch (key) {
      case 'inbound':
        return this.#array(
          itemsOf(node).map((item) => this.#side(item, 'inbound')),
          node,
        );
      case 'outbound':
        return this.#outbounds(node);
      case 'route':
        return this.#route(node);
      default: {
        const shape = configFile.shape?.properties?.[key] ?? {};
        if (node) return this.#value(node, shape);
        if (!ALWAYS.some((name) => name === key)) return undefined;
        return { kind: 'table', from: DEFAULT, entries: defaultsOf(shape, new Set()) };
      }
    }
  }

  #outbounds(node: Node | undefined): ShownValue | undefined {
    const { subscribe, spec, merged } = this.#input;
    const own = itemsOf(node).map((item) => this.#side(item, 'outbound'));
    const nodes = itemsOf(subscribe?.entries.get('proxy_server')?.value).map((item) =>
      this.#side(asOutbound(asTable(item)), 'outbound'),
    );
    const written = new Set(merged.file.outbound.map(({ value }) => value.tag.value));
    const builtin = spec.outbounds
      .filter(({ tag }) => !written.has(tag))
      .map(({ tag, protocol }): ShownTable => {
        const from = 'built in';
        const entries = new Map([
          ['tag', shownString(tag, from)],
          ['protocol', shownString(protocol, from)],
        ]);
        return { kind: 'table', from, entries };
      });
    return this.#array([...own, ...nodes, ...builtin], node);
  }

  #array(items: readonly ShownValue[], node: Node | undefined): ShownArray | undefined {
    const from = node ? this.#place(node) : (items[0]?.from ?? DEFAULT);
    return items.length === 0 ? undefined : { kind: 'array', from, items };
  }

  /** Shows an inbound, an outbound or a node, whose settings depend on its protocol. */
  #side(node: Node, side: 'inbound' | 'outbound'): ShownTable {
    const shape = configFile.shape?.properties?.[side]?.items ?? {};
    const table = asTable(node);
    const protocol = textOf(table.entries.get('protocol')?.value);
    const settings = findProtocol(protocol ?? '')?.[side]?.table?.shape ?? {};
    const properties = { ...shape.properties, settings };
    // A device has no address.
    const absent = protocol === 'tun' ? ['listen'] : isPath(table) ? ['port'] : [];
    return this.#table(table, { ...shape, properties }, absent);
  }

  #route(node: Node | undefined): ShownTable {
    const { spec, merged } = this.#input;
    const shape = configFile.shape?.properties?.['route'] ?? {};
    const table = node && this.#table(asTable(node), shape);
    const { default: picked } = merged.file.route ?? {};
    const chosen = picked ? this.#placeAt(picked.span.start) : 'default: the first outbound';
    const entries = new Map<string, ShownValue>([
      ['default', shownString(spec.route.default, chosen)],
    ]);
    for (const [key, value] of table?.entries ?? []) {
      if (key !== 'default' && key !== 'rule') entries.set(key, value);
    }
    const own = table?.entries.get('rule');
    const rules = [...(own?.kind === 'array' ? own.items : []), ...this.#groupRules()];
    if (rules.length > 0) {
      entries.set('rule', { kind: 'array', from: rules[0]?.from ?? DEFAULT, items: rules });
    }
    const from = node ? this.#place(node) : DEFAULT;
    return { kind: 'table', from, entries };
  }

  /** The rules of route groups, with the targets that picks and `inherit` give them. */
  *#groupRules(): Generator<ShownTable> {
    const { subscribe, merged } = this.#input;
    const shape = configFile.shape?.properties?.['route']?.properties?.['rule']?.items ?? {};
    const groups = itemsOf(subscribe?.entries.get('route_group')?.value);
    for (const [index, group] of groups.entries()) {
      const target = merged.groups[index]?.outbound;
      if (!target) continue;
      const outbound = shownString(target.value, this.#placeAt(target.span.start));
      for (const rule of itemsOf(asTable(group).entries.get('rule')?.value)) {
        const { entries, from } = this.#table(asTable(rule), shape, ['outbound']);
        yield { kind: 'table', from, entries: new Map([['outbound', outbound], ...entries]) };
      }
    }
  }

  #value(node: Node, shape: Shape): ShownValue {
    switch (node.kind) {
      case 'table':
        return this.#table(node, shape);
      case 'array':
        return {
          kind: 'array',
          from: this.#place(node),
          items: node.items.map((item) => this.#value(item, shape.items ?? {})),
        };
      case 'string':
      case 'integer':
      case 'float':
      case 'boolean':
      case 'datetime':
        return shownScalar(node, this.#place(node), isSecret(shape));
      default:
        return node satisfies never;
    }
  }

  /**
   * Shows a table.
   * @param absent keys whose defaults do not apply
   */
  #table(node: TableNode, shape: Shape, absent: readonly string[] = []): ShownTable {
    const entries = new Map<string, ShownValue>();
    for (const [key, { value }] of node.entries) {
      entries.set(key, this.#value(value, shapeAt(shape, key)));
    }
    for (const [key, value] of defaultsOf(shape, new Set([...entries.keys(), ...absent]))) {
      entries.set(key, value);
    }
    return { kind: 'table', from: this.#place(node), entries };
  }

  #place(node: Node): string {
    return this.#placeAt(node.span.start);
  }

  #placeAt(offset: number): string {
    const { file, line } = this.#input.places.locate(offset);
    return `${file ?? 'built in'}:${line}`;
  }
}

/** Returns the shape of the value of a key; empty for an unknown key. */
function shapeAt(shape: Shape, key: string): Shape {
  const own = shape.properties?.[key];
  if (own) return own;
  for (const choice of shape.anyOf ?? []) {
    const found = choice.properties?.[key];
    if (found) return found;
  }
  return typeof shape.additionalProperties === 'object' ? shape.additionalProperties : {};
}

/** Whether a value might be a secret: one that no table describes might. */
const isSecret = (shape: Shape): boolean =>
  shape[DISCLOSURE] === 'secret' || Object.keys(shape).length === 0;

/** Returns the defaults of a table's keys. @param present the present keys; aliases count as the same key */
function defaultsOf(shape: Shape, present: ReadonlySet<string>): Map<string, ShownValue> {
  const entries = new Map<string, ShownValue>();
  const properties = Object.entries(shape.properties ?? {});
  // All names of a key have one shape.
  const done = new Set(properties.filter(([key]) => present.has(key)).map(([, value]) => value));
  for (const [key, value] of properties) {
    if (value.default === undefined || done.has(value)) continue;
    done.add(value);
    entries.set(key, shownDefault(value.default));
  }
  return entries;
}

function shownDefault(value: NonNullable<Shape['default']>): ShownValue {
  if (typeof value === 'object') return { kind: 'array', from: DEFAULT, items: [] };
  if (typeof value === 'string') return shownString(value, DEFAULT);
  return { kind: 'scalar', from: DEFAULT, text: String(value), json: value };
}

const itemsOf = (node: Node | undefined): readonly Node[] =>
  node?.kind === 'array' ? node.items : [];

function asTable(node: Node): TableNode {
  if (node.kind === 'table') return node;
  throw new RangeError('a configuration that was loaded has tables there');
}

const textOf = (node: Node | undefined): string | undefined =>
  node?.kind === 'string' ? node.value : undefined;

/** Whether a listener has the path of a unix socket. */
const isPath = (table: TableNode): boolean =>
  textOf(table.entries.get('listen')?.value)?.startsWith('/') ?? false;

/** Converts a node into an outbound, whose tag is the node's `name`. */
function asOutbound(node: TableNode): TableNode {
  const entries = Array.from(
    node.entries,
    ([key, entry]) => [key === 'name' ? 'tag' : key, entry] as const,
  );
  return { ...node, entries: new Map(entries) };
}
