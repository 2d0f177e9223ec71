import { stat } from 'node:fs/promises';
import { FileDigests } from '@weir/server/app/loading/file-digests';
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
import type { Mutex } from '@weir/server/edits';

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
async function fileStamp(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return ''; // reading the file reports why
  }
}

/** Maximum size in bytes of all files of a configuration. */
export const MAX_BYTES = 256 << 20;

/** The last attempt to read the files of a configuration. */
interface Attempt<T> extends OfFile {
  readonly files: readonly string[];
  readonly stamps: readonly string[];
  readonly outcome: { readonly found: T } | { readonly error: unknown };
}

/** The result of reading one configuration, cached until one of its files changes. */
export class KeptReading<T> {
  readonly #mutex: Mutex;
  readonly #read: (file: OfFile, files: FileDigests) => Promise<T>;
  #last: Attempt<T> | undefined;

  /** @param mutex limits reading to one configuration at a time: each takes much memory */
  constructor(mutex: Mutex, read: (file: OfFile, files: FileDigests) => Promise<T>) {
    this.#mutex = mutex;
    this.#read = read;
  }

  /** @throws the error of reading the files, until one of them has changed */
  async of({ path, pid }: OfFile): Promise<T> {
    const release = await this.#mutex.acquire();
    try {
      const last = this.#last;
      const isCurrent =
        last?.path === path &&
        last.pid === pid &&
        (await Promise.all(last.files.map(fileStamp))).every(
          (stamp, at) => stamp === last.stamps[at],
        );
      const { outcome } = isCurrent ? last : (this.#last = await this.#attempt({ path, pid }));
      if ('error' in outcome) throw outcome.error;
      return outcome.found;
    } finally {
      release();
    }
  }

  async #attempt(file: OfFile): Promise<Attempt<T>> {
    this.#last = undefined; // two configurations at a time would take twice the memory
    const files = new FileDigests(MAX_BYTES);
    let outcome: Attempt<T>['outcome'];
    try {
      outcome = { found: await this.#read(file, files) };
    } catch (error) {
      outcome = { error };
    }
    const { paths } = files;
    return { ...file, files: paths, stamps: await Promise.all(paths.map(fileStamp)), outcome };
  }
}
