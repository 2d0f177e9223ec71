import { requestStatus, type RunningStatus } from '@weir/server/control';
import { ApiClientError, type ApiClient } from '@weir/client/api';
import type { RouteView } from '@weir/config/route-view';
import { WeirError } from '@weir/base';
import { readSpec } from '@weir/nodes/fetch';
import type { Spec } from '@weir/proxy/spec';
import { currentNodes, listSources, nodeFileOf, openWorkspace } from '@weir/nodes/subscribe';
import { clashFacts, type ClashFacts, type ClashSubscription } from './translate/facts.ts';

/** The running Weir. Its properties change when `findAgain` finds it after a restart. */
export interface WatchedWeir {
  readonly api: ApiClient;
  /** The control socket; `undefined` if there is none. */
  readonly socket: string | undefined;
  /** Absolute path of the configuration file; `undefined` for the built-in one, or where it is not known. */
  readonly config: string | undefined;
  /** Repeats the search for the running Weir. */
  findAgain(): Promise<void>;
}

/** The sources of facts. */
export interface FactPlaces {
  readonly weir: WatchedWeir;
  /** Called with the reason why a source cannot be read and is not shown: once for each text. */
  readonly note: (text: string) => void;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

/** Milliseconds for which streams of snapshots reuse facts. */
const KEPT_MS = 5_000;

/** Maximum number of remembered notes. */
const MOST_NOTES = 64;

/** Reads the facts for views; concurrent requests share one read. */
export class FactReader {
  readonly #places: FactPlaces;
  readonly #noted = new Set<string>();
  #reading: Promise<ClashFacts> | undefined;
  #kept: { readonly facts: ClashFacts; readonly at: number } | undefined;
  /** Number of calls of `forget`: a read that began before the last one is not cached. */
  #epoch = 0;
  /** The last configuration read, and the key of the state that it was read for. */
  #spec: { readonly key: string; readonly spec: Promise<Spec | undefined> } | undefined;

  constructor(places: FactPlaces) {
    this.#places = places;
  }

  /** Reads the current facts. @throws {ApiClientError} */
  read(): Promise<ClashFacts> {
    this.#reading ??= this.#start();
    return this.#reading;
  }

  /** Facts of the last few seconds, for repeated snapshots. @throws {ApiClientError} */
  recent(): Promise<ClashFacts> {
    const kept = this.#kept;
    const isRecent = kept && this.#places.now() - kept.at < KEPT_MS;
    return isRecent ? Promise.resolve(kept.facts) : this.read();
  }

  /** Discards the cached facts, after a change. */
  forget(): void {
    this.#epoch++;
    this.#kept = undefined;
    this.#reading = undefined;
  }

  async #start(): Promise<ClashFacts> {
    const epoch = this.#epoch;
    try {
      const facts = await this.#read();
      if (epoch === this.#epoch) this.#kept = { facts, at: this.#places.now() };
      return facts;
    } finally {
      if (epoch === this.#epoch) this.#reading = undefined;
    }
  }

  async #read(): Promise<ClashFacts> {
    const [routes, status] = await Promise.all([this.#readRoutes(), this.#readStatus()]);
    const [spec, subscriptions] = await Promise.all([
      this.#specFor(routes, status),
      this.#readSubscriptions(status),
    ]);
    return clashFacts({ routes, spec, status, subscriptions });
  }

  async #readRoutes(): Promise<RouteView> {
    const { api } = this.#places.weir;
    try {
      return (await api.ask('GET', '/v1/routes')) as RouteView;
    } catch (error) {
      // After a restart it may have another address: the next request then reaches it.
      if (error instanceof ApiClientError && error.status === undefined) await this.#findAgain();
      throw error;
    }
  }

  async #findAgain(): Promise<void> {
    await this.#unless('the running Weir was not found again', () => this.#places.weir.findAgain());
  }

  async #readStatus(): Promise<RunningStatus | undefined> {
    const { socket } = this.#places.weir;
    if (socket === undefined) return undefined;
    return this.#unless('the control socket does not respond', () => requestStatus(socket));
  }

  /** The configuration, read again only after a reload or a change of the routes. */
  #specFor(routes: RouteView, status: RunningStatus | undefined): Promise<Spec | undefined> {
    const path = this.#configOf(status);
    if (path === undefined && status?.config !== null) return Promise.resolve(undefined);
    const reload = [status?.plane_epoch, status?.started_at, status?.last_reload?.at];
    const key = JSON.stringify([path, reload, routes]);
    if (this.#spec?.key !== key) {
      const spec = this.#unless('the configuration cannot be read', () => readSpec(path));
      this.#spec = { key, spec };
    }
    return this.#spec.spec;
  }

  async #readSubscriptions(
    status: RunningStatus | undefined,
  ): Promise<readonly ClashSubscription[]> {
    const path = this.#configOf(status);
    if (path === undefined) return [];
    const found = await this.#unless('the subscriptions cannot be read', () =>
      subscriptionsOf(path),
    );
    return found ?? [];
  }

  #configOf(status: RunningStatus | undefined): string | undefined {
    return this.#places.weir.config ?? status?.config ?? undefined;
  }

  /** The result of `work`; `undefined` if it fails, which is noted. */
  async #unless<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
      const text = `${what}: ${error.message}`;
      if (!this.#noted.has(text) && this.#noted.size < MOST_NOTES) {
        this.#noted.add(text);
        this.#places.note(text);
      }
      return undefined;
    }
  }
}

/** The subscriptions of a configuration; empty without a `[subscribe]` table. */
async function subscriptionsOf(config: string): Promise<readonly ClashSubscription[]> {
  const workspace = await openWorkspace(config, { create: true });
  if (workspace.isPathNew || workspace.sources.length === 0) return [];
  const file = await nodeFileOf(workspace);
  const listed = await listSources(config);
  return listed.map(({ name, updated, userinfo }) => ({
    name,
    nodes: currentNodes(file, name).map((node) => node.name),
    updated,
    userinfo,
  }));
}
