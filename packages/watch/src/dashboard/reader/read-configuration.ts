import { stat } from 'node:fs/promises';
import type { FileDigests } from '@weir/server/app/loading/file-digests';
import { WeirError } from '@weir/base';
import type { RouteExplainer } from '@weir/proxy/explain';
import {
  explainerOf,
  loadRoutes,
  type LoadedRoutes,
  ruleWarnings,
  type RuleWarning,
} from '@weir/nodes/explain';
import { type Marker, nodeFileOf, openWorkspace } from '@weir/nodes/subscribe';
import { weirFiles } from '../config/weir-files.ts';
import type { ConfigFacts, OfFile } from './file-requests.ts';
import { balancerFacts, nodeFacts, type Origins } from './node-facts.ts';
import { RuleSearch } from './rule-search.ts';

/** A configuration that has been read, with its facts and an explainer of its routes. */
export class ReadConfiguration {
  readonly routes: LoadedRoutes;
  readonly facts: ConfigFacts;
  readonly search: RuleSearch;
  #explainer: RouteExplainer | undefined;

  private constructor(
    routes: LoadedRoutes,
    facts: ConfigFacts,
    warnings: ReadonlyMap<number, RuleWarning>,
  ) {
    this.routes = routes;
    this.facts = facts;
    this.search = new RuleSearch(routes, warnings);
  }

  /** @throws {ConfigError} */
  static async read(
    { path, pid }: OfFile,
    files: FileDigests,
    version: string,
  ): Promise<ReadConfiguration> {
    const { examined, ...routes } = await loadRoutes(path ?? undefined, {
      files: await weirFiles(pid ?? undefined, files),
    });
    const { own, subscribe } = examined;
    const hasSubscriptions = subscribe !== undefined;
    const markers = path === null || !hasSubscriptions ? new Map() : await markersOf(path);
    const origins: Origins = {
      own: new Set(own.outbound.map(({ value }) => value.tag.value)),
      nodes: new Map(
        (subscribe?.proxyServer ?? []).map(({ value: { name } }) => [
          name.value,
          markers.get(name.value),
        ]),
      ),
    };
    const { spec } = routes;
    const listed = nodeFacts(spec, origins);
    const facts: ConfigFacts = {
      version,
      readAt: Date.now(),
      nodes: listed,
      moreNodes: spec.outbounds.length - listed.length,
      balancers: balancerFacts(spec, origins),
      inbounds: spec.inbounds.map(({ tag }) => tag),
      rules: spec.route.rules.length,
      hasSubscriptions,
    };
    return new ReadConfiguration(routes, facts, ruleWarnings(examined));
  }

  /** Created for the first flow that is explained. */
  get explainer(): RouteExplainer {
    return (this.#explainer ??= explainerOf(this.routes));
  }
}

/** The markers that subscriptions have written above their nodes, by name. */
async function markersOf(path: string): Promise<ReadonlyMap<string, Marker | undefined>> {
  try {
    const { nodes } = await nodeFileOf(await openWorkspace(path));
    return new Map(nodes.map(({ name, marker }) => [name, marker]));
  } catch (error) {
    // The list of subscriptions reports a subscribe file that cannot be read.
    if (error instanceof WeirError) return new Map();
    throw error;
  }
}

/** A text that changes when a file does: device, inode, size and times; empty if it cannot be read. */
export async function fileStamp(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return ''; // reading the file reports why
  }
}
